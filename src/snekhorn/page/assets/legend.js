// What the colours mean; a click on a category shows it alone, more clicks add others.

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
  requestAnimationFrame(hint); // it has its height only then
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
