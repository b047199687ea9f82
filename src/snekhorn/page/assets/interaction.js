// Interact with points: hover, select, export, search.

// Hovering shows a ring around the point and a tooltip with its metadata.

function showTooltip(row) {
  if (row === null || row === state.detailed || !isShown(row)) return hideTooltip();
  state.hovered = row;
  canvas.classList.add("over");
  byId("tooltip").replaceChildren(...tooltipParts(row));
  byId("ring").hidden = byId("tooltip").hidden = false;
  placeTooltip();
}

function hideTooltip() {
  state.hovered = null;
  canvas.classList.remove("over");
  byId("ring").hidden = byId("tooltip").hidden = true;
}

function tooltipParts(row) {
  const title = make("h2", "", nameOf(row));
  title.prepend(pointSwatch(row));
  const image = thumbnail(row, "portrait");
  image?.addEventListener("load", placeTooltip); // because its height is known only then
  if (header.images !== null && !images.bytes) loadImages().then(() => state.hovered === row && showTooltip(row));
  return [title, ...(image ? [image] : []), factsOf(row, (text) => make("dd", "", text))];
}

// Place the tooltip next to the point, on the side that has room.
function placeTooltip() {
  if (state.hovered === null) return;
  const [left, top] = plot.getScreenPosition(state.hovered);
  byId("ring").style.transform = `translate(${left}px, ${top}px)`;
  byId("ring").style.left = byId("ring").style.top = "0";
  const box = byId("tooltip").getBoundingClientRect();
  const across = left + 14 + box.width > innerWidth - 8 ? left - 14 - box.width : left + 14;
  const down = Math.max(8, Math.min(top - 12, innerHeight - box.height - 8));
  byId("tooltip").style.transform = `translate(${Math.round(Math.max(8, across))}px, ${Math.round(down)}px)`;
}

function watchHover() {
  plot.subscribe("pointover", showTooltip);
  plot.subscribe("pointout", hideTooltip);
  plot.subscribe("view", placeTooltip);
  canvas.addEventListener("mouseleave", hideTooltip);
}

// Selecting shows the number of points and their categories, and offers a CSV file.

function select(rows) {
  plot.select(rows, { preventEvent: true });
  showSelection(rows);
}

function clearSelection() {
  plot.deselect({ preventEvent: true });
  showSelection([]);
}

// Sort the rows, because they may be found in any order.
function showSelection(rows) {
  state.selection = Uint32Array.from(rows).sort();
  const number = state.selection.length;
  byId("selection").hidden = number === 0;
  byId("selected").textContent = `${count(number)} selected`;
  detailing = showDetails(number === 1 ? state.selection[0] : null);
  if (!number) return;
  const [opacityInactiveScale, opacityInactiveMax] = number === 1 ? DIMMED.one : DIMMED.several;
  plot.set({ pointOutlineWidth: number <= OUTLINED ? 2 : 0.01, opacityInactiveScale, opacityInactiveMax });
  drawBreakdown();
}

function drawBreakdown() {
  const { entries, range } = state.coloring;
  byId("breakdown").hidden = state.selection.length === 1; // the details say it
  byId("breakdown").replaceChildren(...(range ? numberBreakdown() : categoryBreakdown(entries)));
}

function categoryBreakdown(entries) {
  const counts = new Uint32Array(entries.length);
  for (const row of state.selection) counts[state.coloring.codes[row]]++;
  const present = entries.map((each, code) => [each, counts[code]]).filter(([, number]) => number);
  present.sort((a, b) => b[1] - a[1]);
  return present.map(([each, number]) => entryRow("div", each, `${count(number)} · ${percent(number)}`));
}

function percent(number) {
  const share = (100 * number) / state.selection.length;
  return share < 0.5 ? "<1%" : `${Math.round(share)}%`;
}

function numberBreakdown() {
  const column = columns[state.color];
  const front = state.selection.filter((row) => !isBehind(row));
  const values = Array.from(front, (row) => column.value(row)).filter((value) => value !== null);
  const facts = make("dl");
  if (values.length) {
    const [low, high] = extent(values);
    const mean = values.reduce((sum, value) => sum + value / values.length, 0);
    for (const [name, value] of [["lowest", low], ["mean", mean], ["highest", high]]) {
      facts.append(make("dt", "", name), make("dd", "", formatNumber(column, value)));
    }
  }
  const codes = Array.from(state.selection, (row) => state.coloring.codes[row]);
  for (const { label, code } of state.coloring.range.greys) {
    const number = countOf(codes, code);
    if (number) facts.append(make("dt", "", label), make("dd", "", count(number)));
  }
  return [facts];
}

// If no column names the points, use their row numbers.
function csv(rows) {
  const numbered = idColumn ? [] : ["row"];
  const names = [...numbered, "x", "y", ...columns.map((column) => column.name)];
  const pieces = [`${names.map(csvField).join(",")}\r\n`];
  for (let start = 0; start < rows.length; start += 10000) {
    const lines = Array.from(rows.subarray(start, start + 10000), (row) => {
      const fields = [...numbered.map(() => row), exactSingle(x[row]), exactSingle(y[row])];
      for (const column of columns) fields.push(csvField(column.exact(row)));
      return `${fields.join(",")}\r\n`;
    });
    pieces.push(lines.join(""));
  }
  return new Blob(pieces, { type: "text/csv;charset=utf-8" });
}

function exportSelection() {
  const link = make("a");
  const name = header.title.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "").slice(0, 60);
  link.href = URL.createObjectURL(csv(state.selection));
  link.download = `${name ? `${name}-` : ""}selection.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000); // some browsers read the data after the click
}

// regl-scatterplot handles the lasso and the clicks that select points. The click that ends a lasso where it began must
// not also select a point, but the library does not prevent this.
function watchSelection() {
  let lassoed = false;
  plot.subscribe("lassoStart", () => (lassoed = true));
  canvas.addEventListener("mousedown", () => (lassoed = false), true);
  canvas.addEventListener("click", (event) => lassoed && event.stopImmediatePropagation(), true);
  plot.subscribe("select", ({ points: rows }) => showSelection(rows));
  plot.subscribe("deselect", () => {
    showSelection([]);
    plot.redraw();
  });
  byId("export").addEventListener("click", exportSelection);
  byId("clear").addEventListener("click", clearSelection);
}

// Searching finds points whose name or text contains the search text.

const PATIENCE = 150; // milliseconds after the last key press before the search starts

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
  const found = plural(rows.length, "match", "matches");
  byId("matches").textContent = rows.length ? `${found}; press Enter to zoom` : "no matches";
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
  field.addEventListener("keydown", async (event) => {
    if (event.key !== "Enter") return;
    clearTimeout(waiting);
    const rows = search();
    state.moved = true;
    await detailing; // the view is fitted next to the details
    if (rows.length) frame(rows.map((row) => points[row]));
  });
}
