"""A real browser, and a page of ten thousand points to try it on."""

import shutil

import numpy as np
import pyarrow as pa

N = 10_000
KINDS = ("kind 10", "kind 9", 'say "<b>hi</b>"', "two\nlines, and a comma", "naïve 🐍")
# Software rendering, so that machines without a graphics card draw the same.
ARGUMENTS = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


def chromium():
    """Path of a Chromium, or None."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def example():
    """Five clusters far from each other, wider than high, and metadata of every type."""
    rng = np.random.default_rng(0)
    code = np.repeat(np.arange(5), N // 5)
    angle = 2 * np.pi * code / 5
    centers = np.column_stack([20 * np.cos(angle), 10 * np.sin(angle)])
    Z = centers + rng.normal(scale=0.6, size=(N, 2))
    depth = rng.gamma(2.0, size=N)
    table = pa.table(
        {
            "id": [f"Point-{i:05d}" for i in range(N)],
            "kind": pa.array([KINDS[c] for c in code]).dictionary_encode(),
            "depth": pa.array(depth, mask=rng.random(N) < 0.1),
            "reads": pa.array(rng.integers(0, 100_000, N)),
            "flag": pa.array(rng.random(N) < 0.5, mask=rng.random(N) < 0.1),
            "when": pa.array(np.datetime64("2024-01-01T12:00:00") + rng.integers(0, 10**7, N).astype("m8[s]")),
            "remark": pa.array([None if i % 3 == 0 else "" if i % 3 == 1 else f"see {i % 300}" for i in range(N)]),
        }
    )
    return Z.astype(np.float32), table


def positions(page, rows):
    """Where points are in the window."""
    script = "(rows) => rows.map((row) => window.snekhorn.scatterplot.getScreenPosition(row))"
    return np.array(page.evaluate(script, list(rows)))


def position(page, row):
    """Where a point is in the window."""
    return positions(page, [row])[0].tolist()


def box(page, rows):
    """A rectangle around points, in the window."""
    seen = positions(page, rows)
    (left, top), (right, bottom) = (seen.min(axis=0) - 8).tolist(), (seen.max(axis=0) + 8).tolist()
    return [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]


def drag(page, corners):
    """Press at the first corner, move along the others, and let go."""
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner, steps=5)
    page.mouse.up()


def selection(page):
    return page.evaluate("Array.from(window.snekhorn.state.selection)")


def pixel(page, row):
    """Colour of the canvas where a point is."""
    x, y = position(page, row)
    script = f"document.getElementById('plot').getContext('2d').getImageData({round(x)}, {round(y)}, 1, 1).data"
    return np.array(page.evaluate(f"Array.from({script})"))[:3]


def settle(page):
    """Wait for the next two frames: what was asked for is drawn then."""
    page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30))))"
    )
