// The selected points: how many, of which kind, and as a file.

function select(rows) {
  plot.select(rows, { preventEvent: true });
  showSelection(rows);
}

function clearSelection() {
  plot.deselect({ preventEvent: true });
  showSelection([]);
}

// Rows in the order of the data, whatever order they were found in.
function showSelection(rows) {
  state.selection = Uint32Array.from(rows).sort();
  const number = state.selection.length;
  byId("selection").hidden = number === 0;
  byId("selected").textContent = `${count(number)} selected`;
  if (!number) return;
  plot.set({ pointOutlineWidth: number <= OUTLINED ? 2 : 0.01 });
  drawBreakdown();
}

function drawBreakdown() {
  const { entries, range } = state.coloring;
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
  const values = Array.from(state.selection, (row) => column.value(row)).filter((value) => value !== null);
  const facts = make("dl");
  if (values.length) {
    const [low, high] = extent(values);
    const mean = values.reduce((sum, value) => sum + value / values.length, 0);
    for (const [name, value] of [["lowest", low], ["mean", mean], ["highest", high]]) {
      const text = column.kind === "time" ? time(value, column) : short(value);
      facts.append(make("dt", "", name), make("dd", "", text));
    }
  }
  const missing = state.selection.length - values.length;
  if (missing) facts.append(make("dt", "", "missing"), make("dd", "", count(missing)));
  return [facts];
}

// Where no column names the points, their numbers do.
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
  setTimeout(() => URL.revokeObjectURL(link.href), 60000); // some browsers read it after the click
}

// regl-scatterplot's own lasso and clicks. A lasso that ends where it began is not also a click on a point, and one
// that the window loses ends there: the library expects neither.
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
