// A column as colours: for every point the number of its colour, and what the legend says of each.

const SINGLE = header.few[0];
const OTHERS = "#8b929a";
const darkMode = matchMedia("(prefers-color-scheme: dark)");
const natural = new Intl.Collator("en", { numeric: true });
const inOrder = (a, b) => (typeof a === "string" ? natural.compare(a, b) : a - b);

// Black and the grey of missing values change sides with the background.
function themed(color) {
  if (!darkMode.matches) return color;
  if (color === "#000000") return "#f4f4f4";
  return color === header.missing ? "#5a5f66" : color;
}

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

// All values where there are colours for them, else the most frequent, with one colour left for the others.
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
