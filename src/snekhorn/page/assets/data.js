// Read the data in the page: blocks of compressed numbers and text, metadata columns, and their display formats.

const byId = (id) => document.getElementById(id);
const header = JSON.parse(byId("header").textContent);

const TYPES = { f4: Float32Array, f8: Float64Array, u1: Uint8Array, u2: Uint16Array, u4: Uint32Array };

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

// Remove the element once it has been read, so that the data is not in memory twice.
async function takeBytes(key) {
  const element = byId(key);
  const deflated = new Blob([fromBase64(element.textContent)]).stream();
  element.remove();
  const buffer = await new Response(deflated.pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
  return new Uint8Array(buffer);
}

// Numbers are stored as all first bytes, then all second bytes, and so on.
async function takeNumbers(key, type) {
  const planes = await takeBytes(key);
  const size = TYPES[type].BYTES_PER_ELEMENT;
  if (size === 1) return planes;
  const n = planes.length / size;
  const bytes = new Uint8Array(planes.length);
  for (let plane = 0; plane < size; plane++) {
    for (let i = 0, from = plane * n; i < n; i++) bytes[i * size + plane] = planes[from + i];
  }
  return new TYPES[type](bytes.buffer);
}

async function takeList(key) {
  return JSON.parse(new TextDecoder().decode(await takeBytes(key)));
}

// Format values as text: exact in exports, short on screen.

const count = (number) => number.toLocaleString("en");
const plural = (number, word, words) => `${count(number)} ${number === 1 ? word : words}`;

// Return the shortest decimal that reads back as the same single-precision number.
function exactSingle(value) {
  for (let digits = 6; digits < 9; digits++) {
    const text = String(Number(value.toPrecision(digits)));
    if (Math.fround(Number(text)) === value) return text;
  }
  return String(Number(value.toPrecision(9)));
}

function short(value) {
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
  return String(Number(value.toPrecision(5)));
}

function time(milliseconds, { digits, days, zoned }) {
  const whole = Math.floor(milliseconds);
  const date = new Date(whole);
  if (Number.isNaN(date.getTime())) return `${milliseconds} ms since 1970`;
  const iso = date.toISOString();
  const cut = iso.indexOf("T");
  if (days) return iso.slice(0, cut);
  const micro = String(Math.round((milliseconds - whole) * 1000)).padStart(3, "0");
  const fraction = digits ? iso.slice(iso.indexOf("."), -1) + (digits > 3 ? micro : "") : "";
  return iso.slice(0, cut + 9) + fraction + (zoned ? "Z" : "");
}

// Return hours, minutes and seconds, as in a table.
function clockTime(seconds, digits) {
  const unit = 10 ** digits;
  const ticks = Math.round(Math.abs(seconds) * unit);
  const whole = Math.floor(ticks / unit);
  const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60].map((part) => pad(part, 2));
  return (seconds < 0 ? "-" : "") + parts.join(":") + (digits ? `.${pad(ticks % unit, digits)}` : "");
}

const pad = (number, width) => String(number).padStart(width, "0");
const UNITS = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];

// No time of day is rounded up to midnight, which would be on the next day.
const timeOfDay = (seconds, digits) => clockTime(Math.min(seconds, 86400 - 10 ** -digits), digits);

// Return a duration in days, hours, minutes and seconds, or in the two largest of them.
function duration(seconds, { digits, largest = UNITS.length }) {
  const size = Math.abs(seconds);
  if (Number(size.toPrecision(5)) < 60) return `${short(seconds)} s`;
  const unitsOf = (value) => {
    const first = UNITS.findIndex(([, unit]) => value >= unit);
    return UNITS.slice(first, first + largest);
  };
  const rounded = (units) => {
    const [name, unit] = units[units.length - 1];
    return name === "s" ? Math.round(size * 10 ** digits) / 10 ** digits : Math.round(size / unit) * unit;
  };
  const used = unitsOf(rounded(unitsOf(size))); // rounding may reach a larger unit
  const [last] = used[used.length - 1];
  let rest = rounded(used);
  const parts = used.map(([name, unit]) => {
    const number = name === last ? Number((rest / unit).toFixed(digits)) : Math.floor(rest / unit);
    rest -= number * unit;
    return number ? `${count(number)} ${name}` : "";
  });
  return (seconds < 0 ? "-" : "") + parts.filter((text) => text).join(" ");
}

// RFC 4180: quote only if necessary. Empty text is quoted; a missing value is not.
function csvField(text) {
  if (text === null) return "";
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// A metadata column, decompressed on first use.
class Column {
  constructor(description, index) {
    Object.assign(this, description, { index });
    this.isCategory = this.kind === "category";
  }

  load() {
    const { isCategory, kind } = this;
    this.loading ??= isCategory ? this.loadCategory() : kind === "recall" ? this.loadRecall() : this.loadNumbers();
    return this.loading;
  }

  // The recall of neighbours has numbers for each layout.
  async loadRecall() {
    const counts = await Promise.all(header.layouts.map((_, i) => takeNumbers(`preserved-${i}`, "u1")));
    this.perLayout = counts.map((each) => Float32Array.from(each, (kept) => kept / header.neighbors.k));
    this.useLayout(state.layout);
  }

  useLayout(number) {
    if (this.perLayout) this.numbers = this.perLayout[number];
  }

  async loadNumbers() {
    this.numbers = await takeNumbers(`numbers-${this.index}`, this.type);
  }

  async loadCategory() {
    const codes = this.type && takeNumbers(`codes-${this.index}`, this.type);
    this.values = await takeList(`values-${this.index}`);
    this.codes = await codes;
  }

  code(row) {
    return this.codes ? this.codes[row] : row;
  }

  // Null if the value is missing.
  value(row) {
    if (this.isCategory) return this.values[this.code(row)] ?? null;
    const number = this.numbers[row];
    return Number.isNaN(number) ? null : number;
  }

  exact(row) {
    const value = this.value(row);
    if (value === null) return null;
    if (this.kind === "time") return time(value, this);
    if (this.kind === "duration") return (this.clock ? timeOfDay : clockTime)(value, this.digits);
    return this.type === "f4" && !this.whole ? exactSingle(value) : String(value);
  }

  shown(row) {
    const value = this.value(row);
    return value === null ? "–" : this.format(value);
  }

  format(value) {
    if (this.kind === "time") return time(value, this);
    if (this.kind === "duration") return this.clock ? timeOfDay(value, this.digits) : duration(value, this);
    if (this.kind === "recall") return value.toFixed(2);
    return this.isCategory || this.whole ? String(value) : short(value);
  }

  // Return, for each code, whether its value contains the text, which must be in lower case.
  search(text) {
    this.lower ??= this.values.map((value) => String(value).toLowerCase());
    const found = new Uint8Array(this.values.length + 1);
    for (let i = 0; i < this.lower.length; i++) if (this.lower[i].includes(text)) found[i] = 1;
    return found;
  }
}

// Format a limit of a scale, which may lie between the values of the column, with fewer digits than a value.
function formatNumber(column, value) {
  if (column.kind === "duration") {
    return column.clock ? timeOfDay(value, 0) : duration(value, { digits: 0, largest: 2 });
  }
  return column.whole && !Number.isInteger(value) ? short(value) : column.format(value);
}

const columns = header.columns.map((description, index) => new Column(description, index));
const idColumn = header.ids === null ? null : columns[header.ids];
const nameOf = (row) => (idColumn ? idColumn.shown(row) : `Point ${row}`);
