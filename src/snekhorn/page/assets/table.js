// Columns of metadata, read from the page when they are first needed.

class Column {
  constructor(description, index) {
    Object.assign(this, description, { index });
    this.isCategory = this.kind === "category";
  }

  load() {
    this.loading ??= this.isCategory ? this.loadCategory() : this.loadNumbers();
    return this.loading;
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

  // Null where the value is missing.
  value(row) {
    if (this.isCategory) return this.values[this.code(row)] ?? null;
    const number = this.numbers[row];
    return Number.isNaN(number) ? null : number;
  }

  exact(row) {
    const value = this.value(row);
    if (value === null) return null;
    if (this.kind === "time") return time(value, this);
    return this.type === "f4" && !this.whole ? exactSingle(value) : String(value);
  }

  shown(row) {
    const value = this.value(row);
    return value === null ? "–" : this.format(value);
  }

  format(value) {
    if (this.kind === "time") return time(value, this);
    return this.kind === "number" && !this.whole ? short(value) : String(value);
  }

  // Which values contain the text, in lower case; rows follow by their codes.
  search(text) {
    this.lower ??= this.values.map((value) => String(value).toLowerCase());
    const found = new Uint8Array(this.values.length + 1);
    for (let i = 0; i < this.lower.length; i++) if (this.lower[i].includes(text)) found[i] = 1;
    return found;
  }
}

const columns = header.columns.map((description, index) => new Column(description, index));
const idColumn = header.ids === null ? null : columns[header.ids];
const nameOf = (row) => (idColumn ? idColumn.shown(row) : `Point ${row}`);
