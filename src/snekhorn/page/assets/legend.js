// Colours of the points, and the legend. Clicking a category shows it alone; further clicks add other categories.

const SINGLE = header.few[0];
const OTHERS = "#8b929a";
const darkMode = matchMedia("(prefers-color-scheme: dark)");
const natural = new Intl.Collator("en", { numeric: true });
const inOrder = (a, b) => (typeof a === "string" ? natural.compare(a, b) : a - b);

// On a dark background, black becomes white, and missing values become a darker grey.
function themed(color) {
  if (!darkMode.matches) return color;
  if (color === "#000000") return "#f4f4f4";
  return color === header.missing ? "#5a5f66" : color;
}

// Return the index of every point's colour, the colours, and the entries of the legend.
function coloring(column) {
  if (!column) return { codes: new Uint16Array(header.n), colors: [SINGLE, SINGLE], entries: [] };
  return column.isCategory ? byCategory(column) : byNumber(column);
}

function byCategory(column) {
  const size = column.values.length;
  const counts = new Uint32Array(size + 1);
  for (let row = 0; row < header.n; row++) counts[column.code(row)]++;
  const kept = mostFrequent(counts, size).sort((a, b) => inOrder(column.values[a], column.values[b]));
  const palette = kept.length > header.few.length ? header.many : header.few;
  const entries = kept.map((value, i) => entry(String(column.values[value]), counts[value], palette[i]));
  const place = new Uint16Array(size + 1).fill(kept.length);
  kept.forEach((value, i) => (place[value] = i));
  if (kept.length < size) entries.push(others(counts, kept, size));
  if (counts[size]) {
    place[size] = entries.length;
    entries.push({ ...entry("missing", counts[size], header.missing), special: true });
  }
  const codes = new Uint16Array(header.n);
  for (let row = 0; row < codes.length; row++) codes[row] = place[column.code(row)];
  return { codes, entries, colors: entries.map((each) => each.color) };
}

const entry = (label, number, color) => ({ label, count: number, color });

// Return all values if there are enough colours; otherwise the most frequent ones, leaving one colour for the rest.
function mostFrequent(counts, size) {
  const values = Array.from({ length: size }, (_, i) => i);
  if (size <= header.many.length) return values;
  return values.sort((a, b) => counts[b] - counts[a] || a - b).slice(0, header.many.length - 1);
}

function others(counts, kept, size) {
  const total = counts.subarray(0, size).reduce((sum, number) => sum + number, 0);
  const number = kept.reduce((rest, value) => rest - counts[value], total);
  return { ...entry(`${count(size - kept.length)} other values`, number, OTHERS), special: true };
}

function byNumber(column) {
  const { numbers } = column;
  const steps = header.scale.length;
  let low = Infinity, high = -Infinity, missing = 0;
  for (const number of numbers) {
    if (Number.isNaN(number)) missing++;
    else if (Number.isFinite(number)) {
      if (number < low) low = number;
      if (number > high) high = number;
    }
  }
  const codes = new Uint16Array(numbers.length);
  const span = high - low || 1;
  for (let row = 0; row < codes.length; row++) {
    const share = (numbers[row] - low) / span;
    codes[row] = Number.isNaN(numbers[row]) ? steps : Math.max(0, Math.min(steps - 1, Math.floor(share * steps)));
  }
  return { codes, entries: [], colors: [...header.scale, header.missing], range: { low, high, missing } };
}

const make = (tag, className, text) => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
};

function swatch(color) {
  const dot = make("span", "swatch");
  dot.style.background = themed(color);
  return dot;
}

function entryRow(tag, { label, color, special }, number) {
  const row = make(tag, "entry");
  const text = make("span", special ? "label special" : "label", label === "" ? "(empty)" : label);
  text.title = label;
  row.append(swatch(color), text, make("span", "number", number));
  return row;
}

function drawLegend() {
  const { entries, range } = state.coloring;
  const column = columns[state.color];
  const parts = range ? numberLegend(column, range) : entries.length ? [categoryLegend(entries)] : [];
  if (state.shown) parts.push(showAllButton());
  byId("legend").replaceChildren(...parts);
  byId("legend").classList.toggle("filtered", state.shown !== null);
}

function categoryLegend(entries) {
  const list = make("ol");
  entries.forEach((each, code) => {
    const button = entryRow("button", each, count(each.count));
    button.setAttribute("aria-pressed", String(state.shown?.has(code) ?? false));
    button.addEventListener("click", () => toggleCategory(code));
    const item = make("li");
    item.append(button);
    list.append(item);
  });
  const hint = () => list.classList.toggle("more", list.scrollTop + list.clientHeight < list.scrollHeight - 4);
  list.addEventListener("scroll", hint);
  requestAnimationFrame(hint); // the height is not known earlier
  return list;
}

function numberLegend(column, { low, high, missing }) {
  if (low > high) return [make("p", "quiet note", "no values")];
  const bar = make("div", "bar");
  bar.style.background = `linear-gradient(to right, ${header.scale.filter((_, i) => i % 15 === 0).join(",")})`;
  const ends = make("div", "ends");
  const middle = column.kind === "time" ? [] : [low / 2 + high / 2];
  for (const value of [low, ...middle, high]) ends.append(make("span", "", column.format(value)));
  const parts = [bar, ends];
  if (missing) {
    const row = entryRow("div", { label: "missing", color: header.missing, special: true }, count(missing));
    row.style.padding = "4px 0 0";
    parts.push(row);
  }
  return parts;
}

function showAllButton() {
  const button = make("button", "all", "Show all");
  button.addEventListener("click", () => showCategories(null));
  return button;
}

function toggleCategory(code) {
  const shown = new Set(state.shown);
  if (!shown.delete(code)) shown.add(code);
  return showCategories(shown.size === 0 || shown.size === state.coloring.entries.length ? null : shown);
}

const isShown = (row) => state.shown === null || state.shown.has(state.coloring.codes[row]);

// Show only these categories, or all of them if null; the legend keeps its scroll position and focus.
async function showCategories(shown) {
  const scrolled = byId("legend").querySelector("ol")?.scrollTop ?? 0;
  const focused = [...byId("legend").querySelectorAll("button")].indexOf(document.activeElement);
  const before = state.shown;
  state.shown = shown;
  drawLegend();
  const list = byId("legend").querySelector("ol");
  if (list) list.scrollTop = scrolled;
  byId("legend").querySelectorAll("button")[focused]?.focus();
  if (shown) {
    const rows = [];
    for (let row = 0; row < header.n; row++) if (isShown(row)) rows.push(row);
    const drawn = plot.filter(rows, { preventEvent: true });
    showSelection(state.selection.filter(isShown));
    await drawn;
  } else if (before) {
    await plot.unfilter({ preventEvent: true });
  }
}
