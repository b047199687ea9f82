// Blocks of data in the page: base64 of deflated bytes.

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

// The element goes when it is read: the page would hold the data twice.
async function takeBytes(key) {
  const element = byId(key);
  const deflated = new Blob([fromBase64(element.textContent)]).stream();
  element.remove();
  const buffer = await new Response(deflated.pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
  return new Uint8Array(buffer);
}

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
