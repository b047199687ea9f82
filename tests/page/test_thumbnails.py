"""Images become small thumbnails in the page; an unreadable image gets one clear sentence."""

import base64
import io

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from snekhorn.errors import InputError
from snekhorn.page import read_thumbnails, thumbnails

from .reading import Page
from .test_html_page import written

COLORS = [(255, 0, 0), (0, 255, 0), (0, 0, 255)]


def encoded(color, *, size=(20, 10), format="PNG", mode="RGB"):
    file = io.BytesIO()
    Image.new(mode, size, color).save(file, format)
    return file.getvalue()


def as_uri(data, kind="image/png"):
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def opened(page):
    """Return the image of every point, or None."""
    ends = page.numbers("image-ends", "u4")
    data = page.bytes("images")
    starts = [0, *ends[:-1]]
    images = [Image.open(io.BytesIO(data[a:b])) for a, b in zip(starts, ends, strict=True)]
    return [(*images, None)[code] for code in page.numbers("image-codes", "u4")]


def test_files_and_data_uris_are_embedded(tmp_path):
    (tmp_path / "big.jpg").write_bytes(encoded(COLORS[0], size=(600, 300), format="JPEG"))
    (tmp_path / "clear.png").write_bytes(encoded((0, 0, 255, 100), size=(300, 300), mode="RGBA"))
    table = pa.table({"photo": ["big.jpg", None, "clear.png", "", "big.jpg"], "n": [1, 2, 3, 4, 5]})
    page = Page(written(np.eye(5, 2), table, images="photo", image_folder=tmp_path))
    first, missing, clear, empty, again = opened(page)
    assert (first.format, first.size) == ("JPEG", (128, 64))
    assert max(np.abs(np.array(first.getpixel((60, 30))) - COLORS[0])) < 5
    assert (clear.format, clear.mode, clear.size) == ("PNG", "RGBA", (128, 128))
    assert missing is None
    assert empty is None
    assert again is first
    assert page.header["images"] == 2
    assert page.column("photo")[1] == ["big.jpg", None, "clear.png", "", "big.jpg"]


def test_data_uris_are_not_shown_as_text():
    uris = [as_uri(encoded(color)) for color in COLORS]
    page = Page(written(np.eye(3, 2), {"photo": uris, "n": [1, 2, 2]}, images="photo"))
    assert [column["name"] for column in page.header["columns"]] == ["n"]
    assert [image.getpixel((3, 3)) for image in opened(page)] == COLORS
    assert all(image.size == (20, 10) for image in opened(page))


@pytest.mark.parametrize(
    ("pixels", "format"),
    [
        (np.array([[1000, 1000], [2000, 3000]], dtype=np.uint16), "PNG"),
        (np.array([[1000, 1000], [2000, 3000]], dtype=np.uint16), "TIFF"),
        (np.array([[-70000, -70000], [0, 70000]], dtype=np.int32), "TIFF"),
        (np.array([[-0.5, np.nan], [0.0, 0.5]], dtype=np.float32), "TIFF"),
    ],
)
def test_images_of_more_than_eight_bits_keep_their_contrast(pixels, format):
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format)
    (image,) = opened(Page(written(np.eye(1, 2), {"photo": [as_uri(file.getvalue())]}, images="photo")))
    assert np.asarray(image.convert("L")).tolist() == [[0, 0], [128, 255]]


def test_a_uniform_image_of_sixteen_bits_is_shown():
    file = io.BytesIO()
    Image.fromarray(np.full((2, 3), 500, dtype=np.uint16)).save(file, "PNG")
    (image,) = opened(Page(written(np.eye(1, 2), {"photo": [as_uri(file.getvalue())]}, images="photo")))
    assert np.asarray(image.convert("L")).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_photographs_are_turned_upright():
    exif = Image.Exif()
    exif[0x0112] = 6  # orientation: the top of the picture is on the right
    file = io.BytesIO()
    pixels = np.zeros((200, 400, 3), dtype=np.uint8)
    pixels[:, :200] = COLORS[0]
    Image.fromarray(pixels).save(file, "JPEG", exif=exif)
    (image,) = opened(Page(written(np.eye(1, 2), {"photo": [as_uri(file.getvalue())]}, images="photo")))
    assert image.size == (64, 128)
    assert image.getpixel((32, 10))[0] > 240
    assert image.getpixel((32, 118))[0] < 15


def test_a_sample_has_the_images_of_its_points():
    uris = [as_uri(encoded((i, 0, 0))) for i in range(50)]
    read = read_thumbnails(pa.table({"photo": uris}), "photo")
    for images in ("photo", read):
        page = Page(
            written(np.random.default_rng(0).normal(size=(50, 2)), {"photo": uris}, images=images, max_points=9)
        )
        rows = page.column("row")[1]
        assert [image.getpixel((0, 0))[0] for image in opened(page)] == rows


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("lost.png", "the image 'lost.png' in row 2 of column 'photo' does not exist in .*; fix the path"),
        (
            "text.png",
            r"the image 'text.png' in row 2 of column 'photo' cannot be read \(not an image in one of the formats PNG",
        ),
        (
            "cut.png",
            "the image 'cut.png' in row 2 of column 'photo' cannot be read .*replace it, or leave the value em",
        ),
        (".", "the image '.' in row 2 of column 'photo' cannot be read"),
        ("https://a.org/b.png", "the image 'https://a.org/b.png' in row 2 .* is a web address; download it"),
        ("data:image/png;base64,!!", "the data URI 'data:image/png;base64,!!' in row 2 .* is damaged"),
        ("data:image/png", "the data URI 'data:image/png' in row 2 .* is damaged .no comma after its type"),
        (as_uri(b"nothing"), "in row 2 of column 'photo' cannot be read .not an image in one of the formats"),
        (as_uri(encoded(COLORS[0], format="EPS")), "in row 2 .* cannot be read .not an image in one of the formats"),
        (as_uri(encoded(COLORS[0], format="PPM")), "in row 2 .* cannot be read .not an image in one of the formats"),
    ],
)
def test_unreadable_images_get_a_clear_sentence(tmp_path, value, message):
    (tmp_path / "good.png").write_bytes(encoded(COLORS[0]))
    (tmp_path / "text.png").write_text("no image")
    noise = np.random.default_rng(0).integers(0, 255, (90, 90, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "cut.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "cut.png").read_bytes()[:5000])
    with pytest.raises(InputError, match=message):
        written(np.eye(2), {"photo": ["good.png", value]}, images="photo", image_folder=tmp_path)


def test_too_many_images_are_refused(monkeypatch):
    monkeypatch.setattr(thumbnails, "MAX_BYTES", 150)
    uris = [as_uri(encoded(color)) for color in COLORS]
    with pytest.raises(InputError, match="take more than 0 MB, the limit of a page, after 2 of 3 images; show fewer"):
        written(np.eye(3, 2), {"photo": uris}, images="photo")


def test_images_are_a_column_of_text():
    with pytest.raises(InputError, match="images='photos' is not a column of metadata; did you mean 'photo'"):
        written(np.eye(2), {"photo": ["a", "b"]}, images="photos")
    with pytest.raises(InputError, match="column 'photo' has type int64, but images are given by paths or data URIs"):
        written(np.eye(2), {"photo": [1, 2]}, images="photo")


def test_images_in_the_metadata_are_no_background():
    uri = as_uri(encoded((1, 0, 0)))
    with pytest.raises(InputError, match="background='photo' is not a column of metadata"):
        written(np.eye(2), {"photo": [uri, uri], "n": [1, 2]}, images="photo", background=("photo", uri))
