// Points whose name or text contains what is typed.

const PATIENCE = 150; // milliseconds without a key before the search starts

const searched = () => columns.filter((column) => column.text || column === idColumn);

function findRows(typed) {
  const text = typed.trim().toLowerCase();
  if (!text) return [];
  const found = new Uint8Array(header.n);
  for (const column of searched()) {
    const hit = column.isCategory ? column.search(text) : null;
    for (let row = 0; row < header.n; row++) {
      if (hit ? hit[column.code(row)] : column.shown(row).includes(text)) found[row] = 1;
    }
  }
  const rows = [];
  for (let row = 0; row < header.n; row++) if (found[row] && isShown(row)) rows.push(row);
  return rows;
}

function search() {
  const typed = byId("search").value;
  const rows = findRows(typed);
  byId("matches").hidden = !typed.trim();
  byId("matches").textContent = rows.length ? `${plural(rows.length, "match", "matches")}, Enter to zoom` : "no match";
  if (rows.length) select(rows);
  else clearSelection();
  return rows;
}

function watchSearch() {
  const field = byId("search");
  byId("search-field").hidden = searched().length === 0;
  let waiting;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, PATIENCE);
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    clearTimeout(waiting);
    const rows = search();
    state.moved = true;
    if (rows.length) frame(rows.map((row) => points[row]));
  });
}
