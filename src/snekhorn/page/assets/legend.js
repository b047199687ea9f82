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

// Layers of the drawing, from back to front.
const [BEHIND, MISSING, FRONT] = [0, 1, 2];

// Points of the background are grey and behind all others, whatever the colour.
const background = header.background && columns[header.background.column];
const isBehind = (row) => background !== null && background.value(row) === header.background.value;

// Return the index of every point's colour, the colours, the layer of each colour, and the entries of the legend.
function coloring(column) {
  if (!column) return byNothing();
  return column.isCategory ? byCategory(column) : byNumber(column);
}

function byNothing() {
  const codes = new Uint16Array(header.n);
  if (!background) return { codes, colors: [SINGLE, SINGLE], layers: [FRONT, FRONT], entries: [] };
  for (let row = 0; row < codes.length; row++) codes[row] = isBehind(row) ? 1 : 0;
  const number = countOf(codes, 1);
  return withEntries(codes, [entry("other points", header.n - number, SINGLE), grey(BEHIND, number)]);
}

function byCategory(column) {
  const size = column.values.length;
  const [missing, behind] = [size, size + 1];
  const groups = new Uint32Array(header.n);
  const counts = new Uint32Array(size + 2);
  for (let row = 0; row < groups.length; row++) {
    groups[row] = isBehind(row) ? behind : column.code(row);
    counts[groups[row]]++;
  }
  const used = Array.from({ length: size }, (_, value) => value).filter((value) => counts[value]);
  const kept = mostFrequent(counts, used).sort((a, b) => inOrder(column.values[a], column.values[b]));
  const palette = kept.length > header.few.length ? header.many : header.few;
  const color = (value, i) => column.colors?.[value] ?? palette[i];
  const entries = kept.map((value, i) => entry(String(column.values[value]), counts[value], color(value, i)));
  const place = new Uint16Array(size + 2).fill(kept.length);
  kept.forEach((value, i) => (place[value] = i));
  if (kept.length < used.length) entries.push(others(counts, kept, used));
  for (const [group, layer] of [[missing, MISSING], [behind, BEHIND]]) {
    if (counts[group]) place[group] = entries.push(grey(layer, counts[group])) - 1;
  }
  const codes = new Uint16Array(header.n);
  for (let row = 0; row < codes.length; row++) codes[row] = place[groups[row]];
  return withEntries(codes, entries);
}

const entry = (label, number, color) => ({ label, count: number, color });

function grey(layer, number) {
  const label = layer === MISSING ? "missing" : header.background.value;
  return { ...entry(label, number, header.missing), layer, special: true };
}

function withEntries(codes, entries) {
  const [colors, layers] = [entries.map((each) => each.color), entries.map(({ layer }) => layer ?? FRONT)];
  return { codes, colors, layers, entries };
}

// Return all values if there are enough colours; otherwise the most frequent ones, leaving one colour for the rest.
function mostFrequent(counts, values) {
  if (values.length <= header.many.length) return [...values];
  return [...values].sort((a, b) => counts[b] - counts[a] || a - b).slice(0, header.many.length - 1);
}

function others(counts, kept, values) {
  const total = (some) => some.reduce((sum, value) => sum + counts[value], 0);
  const label = `${count(values.length - kept.length)} other values`;
  return { ...entry(label, total(values) - total(kept), OTHERS), special: true, merged: true };
}

// The limits of the scale leave out long tails; they are part of the description of the column.
function byNumber(column) {
  const { numbers, scale } = column;
  const steps = header.scale.length;
  const [missing, behind] = [steps, steps + 1];
  const [, low, high] = scale ?? [0, 0, 0];
  const span = high - low || 1;
  const codes = new Uint16Array(numbers.length);
  for (let row = 0; row < codes.length; row++) {
    const step = Math.max(0, Math.min(steps - 1, Math.floor(((numbers[row] - low) / span) * steps)));
    codes[row] = isBehind(row) ? behind : Number.isNaN(numbers[row]) ? missing : step;
  }
  const greys = [];
  for (const [code, layer] of [[missing, MISSING], [behind, BEHIND]]) {
    const number = countOf(codes, code);
    if (number) greys.push({ code, ...grey(layer, number) });
  }
  return {
    codes,
    colors: [...header.scale, header.missing, header.missing],
    layers: [...header.scale.map(() => FRONT), MISSING, BEHIND],
    entries: [],
    range: { scale, greys },
  };
}

const countOf = (values, wanted) => values.reduce((sum, value) => sum + (value === wanted ? 1 : 0), 0);

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
  if (legendFilter()) parts.push(showAllButton());
  byId("legend").replaceChildren(...parts);
  byId("legend").classList.toggle("filtered", legendFilter() !== null);
}

function categoryLegend(entries) {
  const list = make("ol");
  entries.forEach((each, code) => {
    const button = entryRow("button", each, count(each.count));
    button.setAttribute("aria-pressed", String(legendFilter()?.shown.has(code) ?? false));
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

function numberLegend(column, { scale, greys }) {
  if (!scale) return [make("p", "quiet note", "no values")];
  const [lowest, low, high, highest] = scale;
  const bar = make("div", "bar");
  bar.style.background = `linear-gradient(to right, ${header.scale.filter((_, i) => i % 15 === 0).join(",")})`;
  const ends = make("div", "ends");
  const middle = column.kind === "time" ? [] : [low / 2 + high / 2];
  const texts = [low, ...middle, high].map((value) => formatNumber(column, value));
  if (lowest < low) texts[0] = `≤ ${texts[0]}`;
  if (highest > high) texts.push(`≥ ${texts.pop()}`);
  for (const text of texts) ends.append(make("span", "", text.replace("T", "\n"))); // date and time below each other
  const parts = [bar, ends];
  if (low < high) bar.append(...rangeSliders(low, high));
  if (legendFilter()) parts.push(make("p", "quiet note", `shown: ${legendFilter().text}`));
  for (const each of greys) {
    const row = entryRow("div", each, count(each.count));
    row.style.padding = "4px 0 0";
    parts.push(row);
  }
  return parts;
}

const STEPS = 1000; // of a slider
const SLIDING = 120; // milliseconds after the last move of a slider before points are filtered

// Two sliders choose the range that is shown. At the ends of the scale there is no bound.
function rangeSliders(low, high) {
  const filter = legendFilter();
  const place = (value, unbounded) => (Number.isFinite(value) ? ((value - low) / (high - low)) * STEPS : unbounded);
  const starts = filter ? [place(filter.low, 0), place(filter.high, STEPS)] : [0, STEPS];
  let waiting;
  const sliders = ["Lowest value shown", "Highest value shown"].map((name, end) => {
    const slider = Object.assign(make("input", "range"), { type: "range", min: 0, max: STEPS, title: name });
    slider.value = Math.round(starts[end]);
    slider.setAttribute("aria-label", name);
    slider.addEventListener("input", () => {
      const [from, to] = sliders.map((each) => Number(each.value));
      if (from > to) slider.value = end ? from : to;
      clearTimeout(waiting);
      waiting = setTimeout(() => showRange(...sliders.map(bound)), SLIDING);
    });
    return slider;
  });
  const bound = (slider, end) => {
    const value = Number(slider.value);
    return value === end * STEPS ? null : low + (value / STEPS) * (high - low);
  };
  return sliders;
}

function showAllButton() {
  const button = make("button", "all", "Show all");
  button.addEventListener("click", () => setFilter(state.color, null));
  return button;
}
