// Filters: the categories or the range of each column that are shown. The legend sets the filter of its own column, and
// the filters of other columns remain.

const isShown = (row) => state.visible === null || state.visible[row] === 1;
const legendFilter = () => state.filters.get(state.color) ?? null;

function toggleCategory(code) {
  const shown = new Set(legendFilter()?.shown);
  if (!shown.delete(code)) shown.add(code);
  const { codes, entries } = state.coloring;
  const all = shown.size === 0 || shown.size === entries.length;
  const labels = entries.filter((_, i) => shown.has(i)).map((entry) => entry.label || "(empty)");
  return setFilter(state.color, all ? null : { shown, codes, text: labels.join(", ") });
}

// A missing bound is null.
function showRange(low, high) {
  const column = columns[state.color];
  const bounds = [["≥", low], ["≤", high]].filter(([, value]) => value !== null);
  const text = bounds.map(([sign, value]) => `${sign} ${formatNumber(column, value)}`).join(" and ");
  return setFilter(state.color, text ? { low: low ?? -Infinity, high: high ?? Infinity, text } : null);
}

// The legend keeps its scroll position and focus.
function setFilter(index, filter) {
  if (filter) state.filters.set(index, filter);
  else state.filters.delete(index);
  keepFocus(byId("legend"), drawLegend);
  return applyFilters();
}

function keepFocus(section, draw) {
  const targets = () => [...section.querySelectorAll("button, input")];
  const scrolled = section.querySelector("ol")?.scrollTop ?? 0;
  const focused = targets().indexOf(document.activeElement);
  draw();
  const list = section.querySelector("ol");
  if (list) list.scrollTop = scrolled;
  if (focused >= 0) targets()[focused]?.focus();
}

async function applyFilters() {
  const before = state.visible;
  const rows = findVisible();
  drawFilters();
  drawCount(rows);
  if (rows) {
    const drawn = plot.filter(rows, { preventEvent: true });
    showSelection(state.selection.filter(isShown));
    await drawn;
  } else if (before) {
    await plot.unfilter({ preventEvent: true });
  }
  drawNames();
}

// Mark the points that pass all filters, and return them; null if there are no filters.
function findVisible() {
  state.visible = null;
  if (!state.filters.size) return null;
  const visible = new Uint8Array(header.n).fill(1);
  for (const [index, { shown, codes, low, high }] of state.filters) {
    if (shown) {
      const keep = Uint8Array.from({ length: 65536 }, (_, code) => (shown.has(code) ? 1 : 0));
      for (let row = 0; row < visible.length; row++) visible[row] &= keep[codes[row]];
    } else {
      const { numbers } = columns[index];
      for (let row = 0; row < visible.length; row++) visible[row] &= numbers[row] >= low && numbers[row] <= high;
    }
  }
  state.visible = visible;
  const rows = [];
  for (let row = 0; row < visible.length; row++) if (visible[row]) rows.push(row);
  return rows;
}

function drawCount(rows) {
  const sample = header.total > header.n ? `, a random sample of ${count(header.total)}` : "";
  const all = plural(header.n, "point", "points") + sample;
  byId("count").textContent = rows ? `${count(rows.length)} of ${all} shown` : all;
}

// Name the filters of columns other than that of the legend, each with a button that removes it.
function drawFilters() {
  const others = [...state.filters].filter(([index]) => index !== state.color);
  byId("filters").hidden = others.length === 0;
  byId("filters").replaceChildren(...others.map(([index, { text }]) => {
    const name = columns[index]?.name ?? "points"; // the legend of no column shows the background and other points
    const button = make("button", "chip");
    const label = make("span", "label");
    label.append(make("b", "", name), ` ${text}`);
    label.title = `${name}: ${text}`;
    button.append(label, make("span", "remove", "×"));
    button.setAttribute("aria-label", `Remove the filter of ${name}: ${text}`);
    button.addEventListener("click", () => setFilter(index, null));
    return button;
  }));
}
