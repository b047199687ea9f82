// Values as text: exact in exports, short on the screen.

const count = (number) => number.toLocaleString("en");
const plural = (number, word, words) => `${count(number)} ${number === 1 ? word : words}`;

// The shortest decimal that reads back as the same single-precision number.
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

// RFC 4180: quotes where they are needed; an empty text is quoted, a missing value is not.
function csvField(text) {
  if (text === null) return "";
  return text === "" || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
