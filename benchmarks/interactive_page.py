"""Measure the interactive page: its size, the time to write and open it, and how fast it responds."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from harness.experiment import Cases, Plan, Settings, finished
from harness.peers import require
from harness.results_page import figure_table
from snekhorn.page import write_page

from .measure import Array, benchmark

SIZES = (10_000, 100_000, 1_000_000)
N_CLASSES = 20
N_HOVERS = 15
PAN_SECONDS = 6.0
WINDOW = {"width": 1280, "height": 800}
SOFTWARE = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
PLOT = "window.snekhorn.scatterplot"

# Measure the milliseconds from a mouse event to the tooltip.
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


def plan(settings: Settings) -> Plan:
    return {f"{n:,} points": partial(measure, n) for n in (SIZES[:1] if settings.quick else SIZES)}


def measure(n: int) -> dict[str, Any]:
    """Write a page, open it in headless Chromium with software rendering, and use it."""
    require("playwright")
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
        result = {"n": n, "megabytes": file.stat().st_size / 1e6, **written, **used, "browser": browser.version}
        browser.close()
    return result


def example(n: int) -> tuple[Array, pa.Table]:
    """Draw random clusters in the plane, with a class, a number and a name for every point."""
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


def opening(page: Any) -> dict[str, Any]:
    """Return the seconds until the first frame and until the page is ready, and its memory at that time."""
    marks = {"first_frame": "first frame", "ready": "ready"}
    script = "(name) => performance.getEntriesByName(name)[0].startTime / 1000"
    seconds = {key: page.evaluate(script, mark) for key, mark in marks.items()}
    return {**seconds, "heap_gb": page.evaluate("performance.memory.usedJSHeapSize") / 1e9}


def panning(page: Any) -> dict[str, Any]:
    """Return the frames per second while the mouse drags the picture."""
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


def hovering(page: Any) -> dict[str, Any]:
    """Return the median time from a mouse movement to the tooltip, in milliseconds."""
    page.evaluate(WATCH_HOVER)
    for row in range(N_HOVERS):
        page.mouse.move(*page.evaluate(f"{PLOT}.getScreenPosition({row})"))
        page.wait_for_timeout(300)
    return {"hover": statistics.median(page.evaluate("window.delays"))}


def searching(page: Any) -> dict[str, Any]:
    """Return the times of a first search, which prepares the text, and of a second one, in milliseconds."""
    first, _ = page.evaluate(SEARCH, "cell-000012")
    page.wait_for_timeout(1500)
    second, matches = page.evaluate(SEARCH, "cell-000034")
    page.wait_for_timeout(1500)
    page.evaluate(SEARCH, "")
    page.click("#reset")
    page.wait_for_timeout(1500)
    return {"search_first": first, "search": second, "matches": matches}


def recoloring(page: Any) -> dict[str, Any]:
    """Return the seconds from choosing another column until it is drawn."""
    start, drawn = time.perf_counter(), page.evaluate("window.frames_drawn")
    page.select_option("#color", label="depth")
    page.wait_for_selector("#legend .bar")
    page.wait_for_function(f"window.frames_drawn > {drawn}")
    return {"recolor": time.perf_counter() - start}


def lasso(page: Any) -> dict[str, Any]:
    """Return the seconds from the end of a lasso to its count, and from clicking export to the file."""
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


def report(cases: Cases) -> str:
    found = list(finished(cases).values())
    if not found:
        return ""
    note = (
        f"For every point, a page holds a class (one of {N_CLASSES}), a number and a name. The pages were opened in "
        f"headless Chromium {found[0]['browser']}, in a window of {WINDOW['width']} × {WINDOW['height']} pixels. The "
        "machine has no graphics card, so the browser renders in software. Frames, and everything that waits for a "
        "frame, are therefore much slower than on a desktop computer. The heap is the memory of the page itself. The "
        "first search takes longer than later ones, because it first prepares the text for searching."
    )
    columns = {
        "points": ("n", ",d"),
        "file, MB": ("megabytes", ".1f"),
        "writing, s": ("write", ".2f"),
        "first frame, s": ("first_frame", ".2f"),
        "ready, s": ("ready", ".2f"),
        "heap, GB": ("heap_gb", ".2f"),
        "frames per second, panning": ("frames", ".1f"),
        "tooltip, ms": ("hover", ".0f"),
        "first search, ms": ("search_first", ".0f"),
        "later search, ms": ("search", ".0f"),
        "recolouring, s": ("recolor", ".2f"),
        "points selected": ("selected", ",d"),
        "lasso, s": ("lasso", ".2f"),
        "export, s": ("export", ".2f"),
    }
    return figure_table(columns, found, note)


EXPERIMENT = benchmark("page", "Interactive page", plan, report)
