"""Draw the picture of the interactive page, with Chromium: python docs/draw_page.py"""

import shutil
import tempfile
from pathlib import Path

import pyarrow as pa
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_digits

from snekhorn import TSNEkhorn
from snekhorn.metrics import evaluate
from snekhorn.page import write_page

IMAGE = Path(__file__).parent / "images" / "page.png"
SOFTWARE = ("--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
HOVERED = 77
SCORES = ("trustworthiness", "continuity", "silhouette")


def digits_page(file: Path) -> None:
    """The digits, as the page of the documentation shows them."""
    X, y = load_digits(return_X_y=True)
    model = TSNEkhorn(perplexity=30)
    Z = model.fit_transform(X)
    scores = {name.replace("_", " "): f"{evaluate(X, Z, y)[name]:.3f}" for name in SCORES}
    metadata = pa.table({"name": [f"digit {i}" for i in range(len(y))], "digit": y, "ink": X.sum(axis=1) / 16})
    summary = {"method": "t-SNEkhorn", "perplexity": "30", **scores}
    write_page(file, Z, metadata, ids="name", title="Handwritten digits", summary=summary)


def picture(file: Path) -> None:
    """The page with its facts unfolded and the mouse over a point."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=SOFTWARE)
        page = browser.new_page(viewport={"width": 1200, "height": 750})
        page.goto(file.as_uri())
        page.evaluate("window.snekhorn.ready")
        page.click("#about summary")
        page.mouse.move(*page.evaluate(f"window.snekhorn.scatterplot.getScreenPosition({HOVERED})"))
        page.wait_for_selector("#tooltip", state="visible")
        page.wait_for_timeout(500)  # the last frame is drawn
        page.screenshot(path=IMAGE)
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        digits_page(page)
        picture(page)
