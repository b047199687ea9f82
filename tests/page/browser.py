"""A real browser, and an example of ten thousand points."""

import shutil
import time

import numpy as np
import pyarrow as pa

N = 10_000
HANGS = 120_000  # milliseconds without an answer after which a page hangs; busy machines take seconds
KINDS = ("kind 10", "kind 9", 'say "<b>hi</b>"', "two\nlines, and a comma", "naïve 🐍")
# Software rendering, so that machines without a graphics card draw the same.
ARGUMENTS = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


def chromium():
    """Return the path of Chromium, or None."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def example():
    """Return five well separated clusters, wider than high, and metadata of every type."""
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
    """Return the positions of points in the window."""
    script = "(rows) => rows.map((row) => window.snekhorn.scatterplot.getScreenPosition(row))"
    return np.array(page.evaluate(script, list(rows)))


def position(page, row):
    """Return the position of a point in the window."""
    return positions(page, [row])[0].tolist()


def box(page, rows):
    """Return the corners of a rectangle around points, in the window."""
    seen = positions(page, rows)
    (left, top), (right, bottom) = (seen.min(axis=0) - 8).tolist(), (seen.max(axis=0) + 8).tolist()
    return [(left, top), (right, top), (right, bottom), (left, bottom), (left, top)]


def drag(page, corners):
    """Press the mouse at the first corner, move along the others, and release it."""
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner, steps=5)
    page.mouse.up()


def selection(page):
    return page.evaluate("Array.from(window.snekhorn.state.selection)")


def pixel(page, row):
    """Return the colour of the canvas at a point."""
    x, y = position(page, row)
    script = f"document.getElementById('plot').getContext('2d').getImageData({round(x)}, {round(y)}, 1, 1).data"
    return np.array(page.evaluate(f"Array.from({script})"))[:3]


def wait_until(page, condition):
    """Wait until a condition holds; only a page that hangs fails."""
    deadline = time.monotonic() + HANGS / 1000
    while not condition():
        assert time.monotonic() < deadline, "the page does not reach the expected state"
        page.wait_for_timeout(30)


def wait_for_pixel(page, row, color):
    """Wait until the canvas has a colour, as drawn in software, at a point."""
    wait_until(page, lambda: np.abs(pixel(page, row) - color).max() <= 12)


def settle(page):
    """Wait for pending timers of the page and for the frames that they ask for.

    Timers of a page run in order, so that this does not depend on how busy the machine is.
    """
    page.evaluate("""async () => {
      await new Promise((done) => setTimeout(done, 500));
      for (let frame = 0; frame < 8; frame++) await new Promise(requestAnimationFrame);
    }""")
