"""Read the images of points, from files or data URIs, and shrink them so that they fit into the page."""

from __future__ import annotations

import base64
import binascii
import io
import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..errors import InputError
from ..runtime.checks import check_path

SIDE = 128  # pixels of the longer side; larger thumbnails make the file large
SMALL = 64  # pixels of the longer side up to which an image is stored without loss
QUALITY = 80  # of JPEG; higher values double the size of the file
MAX_BYTES = 100_000_000  # of all thumbnails of a page; larger files are slow to open
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")  # others, such as EPS, make Pillow run other programs


@dataclass(frozen=True)
class Thumbnails:
    """Thumbnails of the points.

    Attributes
    ----------
    codes : ndarray of shape (n,)
        The number of each point's image, and the number of images for a point without one.
    images : list of bytes
        The distinct images, encoded as PNG or JPEG.
    inline_column : str or None
        The column, if it holds the images themselves: then it is not worth showing as text.
    """

    codes: NDArray[np.uint32]
    images: list[bytes]
    inline_column: str | None

    @property
    def ends(self) -> NDArray[np.uint32]:
        """Where each image ends in the sequence of all images."""
        return np.cumsum([len(image) for image in self.images], dtype=np.uint32)

    def of(self, rows: NDArray[np.int64]) -> Thumbnails:
        """Return the thumbnails of some of the points."""
        used, codes = np.unique(self.codes[rows], return_inverse=True)
        kept = [self.images[code] for code in used if code < len(self.images)]
        return Thumbnails(codes.astype(np.uint32), kept, self.inline_column)


def read_thumbnails(metadata: pa.Table, column: str, *, folder: str | os.PathLike[str] | None = None) -> Thumbnails:
    """Read the images that a column of the metadata names, and shrink them.

    Parameters
    ----------
    metadata : pyarrow.Table
        One row per point.
    column : str
        Column of paths of images or of data URIs; points with an empty or missing value have no image.
    folder : path, optional
        Folder that relative paths start from. By default, the current folder.
    """
    values = metadata.column(column)
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind)):
        raise InputError(f"column {column!r} has type {kind}, but images are given by paths or data URIs, as text.")
    values = values.cast(pa.large_string())
    texts = [text for text in values.unique().to_pylist() if text]
    first = {text: row for row, text in reversed(list(enumerate(values.to_pylist())))}
    start = check_path(folder or ".", "image_folder", remedy="pass the name of a folder")
    images: list[bytes] = []
    total = 0
    for text in texts:
        place = f"row {first[text] + 1} of column {column!r}"
        images.append(_thumbnail(text, place, start))
        total += len(images[-1])
        if total > MAX_BYTES:
            raise InputError(
                f"the thumbnails of column {column!r} take more than {MAX_BYTES // 10**6} MB, the limit of a page, "
                f"after {len(images):,} of {len(texts):,} images; show fewer points, or leave out the images."
            )
    numbers = {text: number for number, text in enumerate(texts)}
    codes = np.array([numbers.get(text, len(texts)) for text in values.to_pylist()], dtype=np.uint32)
    return Thumbnails(codes, images, column if any(text.startswith("data:") for text in texts) else None)


def _thumbnail(text: str, place: str, folder: Path) -> bytes:
    """Return a thumbnail of one image; the error for an unreadable image says where it is."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    shown = repr(text if len(text) <= 80 else f"{text[:60]}…")
    if text.startswith(("http:", "https:")):
        raise InputError(f"the image {shown} in {place} is a web address; download it, and name the file.")
    source: Any = io.BytesIO(_inline_bytes(text, shown, place)) if text.startswith("data:") else folder / text
    try:
        with warnings.catch_warnings(), Image.open(source, formats=FORMATS) as image:
            warnings.simplefilter("ignore")  # such as very many pixels, which are reduced here
            image.draft("RGB", (2 * SIDE, 2 * SIDE))  # JPEG files are decoded at a lower resolution
            return _encoded(ImageOps.exif_transpose(image))
    except FileNotFoundError:
        raise InputError(f"the image {shown} in {place} does not exist in {_named(folder)}; fix the path.") from None
    except Exception as error:  # what damaged bytes make the library raise cannot be listed
        unknown = isinstance(error, UnidentifiedImageError)
        reason = f"not an image in one of the formats {', '.join(FORMATS)}" if unknown else _reason(error)
        raise InputError(
            f"the image {shown} in {place} cannot be read ({reason}); replace it, or leave the value empty."
        ) from error


def _named(folder: Path) -> str:
    return "the current folder" if folder == Path() else str(folder)


def _reason(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")[:120]


def _inline_bytes(text: str, shown: str, place: str) -> bytes:
    """Decode the bytes of a data URI."""
    head, comma, body = text.partition(",")
    try:
        if not comma:
            raise ValueError("no comma after its type")
        return base64.b64decode(body, validate=True) if head.endswith(";base64") else unquote_to_bytes(body)
    except (binascii.Error, ValueError) as error:
        raise InputError(
            f"the data URI {shown} in {place} is damaged ({_reason(error)}); replace it, or leave the value empty."
        ) from error


def _encoded(image: Any) -> bytes:
    """Shrink an image and encode it: small and transparent images as PNG, others as JPEG."""
    lossless = max(image.size) <= SMALL or "A" in image.mode or "transparency" in image.info
    image = _in_bytes(image).convert("RGBA" if "A" in image.mode or "transparency" in image.info else "RGB")
    image.thumbnail((SIDE, SIDE))
    file = io.BytesIO()
    if lossless:
        image.save(file, "PNG", optimize=True)
    else:
        image.save(file, "JPEG", quality=QUALITY)
    return file.getvalue()


def _in_bytes(image: Any) -> Any:
    """Scale a grey image of 16 or 32 bits to bytes, from its smallest to its largest value; Pillow would clip it."""
    from PIL import Image

    if not image.mode.startswith(("I", "F")):
        return image
    values = np.asarray(image).astype(float)
    known = np.isfinite(values)
    low, high = (values[known].min(), values[known].max()) if known.any() else (0.0, 0.0)
    scaled = np.nan_to_num((values - low) / (high - low) if high > low else 0.0 * values, posinf=1.0, neginf=0.0)
    return Image.fromarray(np.round(255.0 * scaled).astype(np.uint8))
