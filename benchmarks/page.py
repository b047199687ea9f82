"""The interactive page: its size, how long it takes to write and open, and how it answers in a browser."""

import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from snekhorn.page import write_page

from .measure import figure, fresh, markdown, say

N_CLASSES = 20
N_HOVERS = 15
PAN_SECONDS = 6.0
WINDOW = {"width": 1280, "height": 800}
SOFTWARE = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
PLOT = "window.snekhorn.scatterplot"

# Milliseconds from a mouse event to the tooltip that it brings.
WATCH_HOVER = """() => {
  window.delays = [];
  let moved = 0;
  addEventListener("mousemove", (event) => (moved = event.timeStamp), true);
  new MutationObserver(() => window.delays.push(performance.now() - moved))
    .observe(document.getElementById("tooltip"), { childList: true });
}"""
SEARCH = """(text) => {
  const field = document.getElementById("search");
  field.value = text;
  const start = performance.now();
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter" }));
  return [performance.now() - start, window.snekhorn.state.selection.length];
}"""


def run(quick: bool = False) -> dict:  # noqa: FBT001, FBT002
    """One page of a million points; `quick` takes ten thousand."""
    cells = []
    for n in (10_000,) if quick else (10_000, 100_000, 1_000_000):
        cells.append({"n": n, **fresh(measure, n=n)})
        say(f"page: {n:,}")
    return {"cells": cells}


def measure(n: int) -> dict:
    """Write a page, open it in a headless Chromium that draws in software, and use it."""
    from playwright.sync_api import sync_playwright

    Z, table = example(n)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        file = Path(folder) / "page.html"
        start = time.perf_counter()
        write_page(file, Z, table, ids="id", title="Benchmark")
        written = {"write": time.perf_counter() - start}
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=SOFTWARE)
        page = browser.new_page(viewport=WINDOW)
        page.set_default_timeout(300_000)
        page.goto(file.as_uri())
        page.evaluate("window.snekhorn.ready")
        used = {
            **opening(page),
            **panning(page),
            **hovering(page),
            **searching(page),
            **recoloring(page),
            **lasso(page),
        }
        result = {"megabytes": file.stat().st_size / 1e6, **written, **used, "browser": browser.version}
        browser.close()
    return result


def example(n: int) -> tuple[np.ndarray, pa.Table]:
    """Clusters in the plane, with a class, a number and a name a point."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, N_CLASSES, n)
    centers = rng.uniform(-10, 10, (N_CLASSES, 2))
    Z = centers[label] + rng.normal(size=(n, 2))
    columns = {
        "id": [f"cell-{i:07d}" for i in range(n)],
        "label": pa.array([f"type {c}" for c in label]).dictionary_encode(),
        "depth": rng.gamma(2.0, size=n),
    }
    return Z, pa.table(columns)


def opening(page: Any) -> dict:
    """Seconds until the first picture and until everything answers, and what the page's memory is then."""
    marks = {"first_frame": "first frame", "ready": "ready"}
    script = "(name) => performance.getEntriesByName(name)[0].startTime / 1000"
    seconds = {key: page.evaluate(script, mark) for key, mark in marks.items()}
    return {**seconds, "heap_gb": page.evaluate("performance.memory.usedJSHeapSize") / 1e9}


def panning(page: Any) -> dict:
    """Frames a second while the mouse drags the picture around."""
    page.evaluate(f"() => {{ window.frames_drawn = 0; {PLOT}.subscribe('draw', () => window.frames_drawn++); }}")
    page.mouse.move(760, 400)
    page.mouse.down()
    before, start, turn = page.evaluate("window.frames_drawn"), time.perf_counter(), 0
    while (elapsed := time.perf_counter() - start) < PAN_SECONDS:
        turn += 1
        page.mouse.move(760 + 90 * np.cos(turn / 8), 400 + 90 * np.sin(turn / 8))
    frames = page.evaluate("window.frames_drawn") - before
    page.mouse.up()
    page.click("#reset")
    page.wait_for_timeout(1500)
    return {"frames": frames / elapsed}


def hovering(page: Any) -> dict:
    """Median milliseconds from a move of the mouse to the tooltip."""
    page.evaluate(WATCH_HOVER)
    for row in range(N_HOVERS):
        page.mouse.move(*page.evaluate(f"{PLOT}.getScreenPosition({row})"))
        page.wait_for_timeout(300)
    return {"hover": statistics.median(page.evaluate("window.delays"))}


def searching(page: Any) -> dict:
    """Milliseconds of a first search, which prepares the texts, and of another."""
    first, _ = page.evaluate(SEARCH, "cell-000012")
    page.wait_for_timeout(1500)
    second, matches = page.evaluate(SEARCH, "cell-000034")
    page.wait_for_timeout(1500)
    page.evaluate(SEARCH, "")
    page.click("#reset")
    page.wait_for_timeout(1500)
    return {"search_first": first, "search": second, "matches": matches}


def recoloring(page: Any) -> dict:
    """Seconds from the choice of another column to its picture."""
    start, drawn = time.perf_counter(), page.evaluate("window.frames_drawn")
    page.select_option("#color", label="depth")
    page.wait_for_selector("#legend .bar")
    page.wait_for_function(f"window.frames_drawn > {drawn}")
    return {"recolor": time.perf_counter() - start}


def lasso(page: Any) -> dict:
    """Seconds from the end of a lasso to its count, and from the click on export to the file."""
    page.keyboard.down("Shift")
    page.mouse.move(600, 200)
    page.mouse.down()
    for corner in ((900, 200), (900, 600), (600, 600), (600, 200)):
        page.mouse.move(*corner, steps=4)
    start = time.perf_counter()
    page.mouse.up()
    page.keyboard.up("Shift")
    page.wait_for_selector("#selection", state="visible")
    selected = {
        "lasso": time.perf_counter() - start,
        "selected": page.evaluate("window.snekhorn.state.selection.length"),
    }
    start = time.perf_counter()
    with page.expect_download() as download:
        page.click("#export")
    download.value.path()
    return {**selected, "export": time.perf_counter() - start}


def table(results: dict) -> str:
    """A row a size."""
    browser = next((cell["browser"] for cell in results["cells"] if "browser" in cell), "–")
    caption = (
        f"Pages with a class of {N_CLASSES} values, a number and a name a point, in headless Chromium {browser}, "
        f"{WINDOW['width']} by {WINDOW['height']} pixels. There is no graphics card: the browser draws in software, on "
        "the processor, so frames, and all that waits for one, are far slower than on a desktop. Heap is the page's "
        "own memory. The first search prepares the texts."
    )
    forms = {
        "points": ("n", ",d"),
        "file, MB": ("megabytes", ".1f"),
        "write, s": ("write", ".2f"),
        "first frame, s": ("first_frame", ".2f"),
        "ready, s": ("ready", ".2f"),
        "heap, GB": ("heap_gb", ".2f"),
        "frames a second, panning": ("frames", ".1f"),
        "tooltip, ms": ("hover", ".0f"),
        "first search, ms": ("search_first", ".0f"),
        "search, ms": ("search", ".0f"),
        "recolour, s": ("recolor", ".2f"),
        "selected": ("selected", ",d"),
        "lasso, s": ("lasso", ".2f"),
        "export, s": ("export", ".2f"),
    }
    rows = [[figure(cell, key, form) for key, form in forms.values()] for cell in results["cells"]]
    return markdown(caption, list(forms), rows)
