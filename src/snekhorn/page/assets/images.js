// Thumbnails of the points, decompressed on first use.

const PIXELS = 32; // images up to this width are enlarged without smoothing

const images = { bytes: null, ends: null, codes: null, addresses: new Map() };

function loadImages() {
  images.loading ??= (async () => {
    const blocks = ["image-ends", "image-codes"].map((key) => takeNumbers(key, "u4"));
    [images.ends, images.codes] = await Promise.all(blocks);
    images.bytes = await takeBytes("images");
  })();
  return images.loading;
}

// Return the thumbnail of a point as an element, or null if there is none, or if the images are not loaded yet.
function thumbnail(row, className) {
  const code = images.bytes ? images.codes[row] : Infinity;
  if (!(code < images.ends?.length)) return null;
  if (!images.addresses.has(code)) {
    const bytes = images.bytes.subarray(code ? images.ends[code - 1] : 0, images.ends[code]);
    images.addresses.set(code, URL.createObjectURL(new Blob([bytes])));
  }
  const image = make("img", className);
  image.addEventListener("load", () => image.classList.toggle("pixels", image.naturalWidth <= PIXELS));
  image.src = images.addresses.get(code);
  image.alt = `Image of ${nameOf(row)}`;
  return image;
}
