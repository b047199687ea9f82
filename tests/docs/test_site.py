"""Build the site and check its pages, its links and that it loads nothing from the network."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from snekhorn.datasets import names
from snekhorn.registry import AFFINITIES, METHODS

from ..page.browser import ARGUMENTS, chromium, wait_until
from .pages import ROOT

pytest.importorskip("mkdocs", reason="mkdocs is not installed")
LOADED = re.compile(r"""url\(["']?([^"')]+)|@import\s+["']([^"']+)""")  # by a style sheet
MARKDOWN_LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site; a warning is a failure."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert result.returncode == 0, result.stderr
    return folder


class _Page(HTMLParser):
    """The links of a page, the files it loads, and its anchors."""

    def __init__(self, file):
        super().__init__()
        self.links, self.loaded, self.anchors = [], [], {""}
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors.add(values.get("id", ""))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag == "link" and values.get("href"):
            self.loaded.append(values["href"])
        elif values.get("src"):
            self.loaded.append(values["src"])


@pytest.fixture(scope="module")
def pages(site):
    return {file: _Page(file) for file in site.rglob("*.html")}


def test_main_pages_exist(pages, site):
    found = {str(file.relative_to(site)) for file in pages}
    assert {"index.html", "commands.html", "limits.html", "changes.html", "reference/estimators.html"} <= found


@pytest.mark.parametrize(("page", "entries"), [("affinities", AFFINITIES), ("estimators", METHODS)])
def test_reference_lists_every_registered_class(pages, site, page, entries):
    anchors = pages[site / "reference" / f"{page}.html"].anchors
    classes = {f"snekhorn.{entry.module}.{entry.class_name}" for entry in entries.values()}
    assert classes <= anchors
    text = (site / "reference" / f"{page}.html").read_text(encoding="utf-8")
    assert all(f"<code>{name}</code>" in text for name in entries)


def test_reference_lists_every_data_set(site):
    text = (site / "reference" / "datasets.html").read_text(encoding="utf-8")
    assert all(f"<code>{name}</code>" in text for name in names())


def test_no_marker_is_left_on_a_page(site):
    assert not [file.name for file in (site / "reference").glob("*.html") if "{{" in file.read_text(encoding="utf-8")]


def test_internal_links_work(pages):
    broken = [
        f"{file.name}: {link}"
        for file, page in pages.items()
        if file.name != "404.html"  # it can be served at any address, so its links start at the root
        for link in page.links
        if not urlsplit(link).scheme and not _target_exists(file, link, pages)
    ]
    assert not broken


def _target_exists(file, link, pages):
    parts = urlsplit(link)
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    target = target / "index.html" if target.is_dir() else target
    return target in pages and unquote(parts.fragment) in pages[target].anchors


def test_nothing_is_loaded_from_the_network(pages, site):
    styles = [file.read_text(encoding="utf-8") for file in site.rglob("*.css")]
    loaded = [address for page in pages.values() for address in page.loaded]
    loaded += [a or b for style in styles for a, b in LOADED.findall(style)]
    assert loaded
    assert not [address for address in loaded if urlsplit(address).scheme not in ("", "data") or "//" in address[:2]]


@pytest.fixture
def window():
    """A tab of a browser."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if chromium() is None:
        pytest.skip("no chromium to open the site with")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield browser.new_page()
        browser.close()


def test_browser_requests_no_network(site, window):
    requested = []
    window.on("request", lambda request: requested.append(request.url))
    for name in ("index.html", "reference/estimators.html"):
        window.goto((site / name).as_uri())
        window.wait_for_load_state("networkidle")
    assert requested
    assert not [address for address in requested if not address.startswith(("file:", "data:", "blob:"))]


@pytest.mark.parametrize("name", ["index.html", "reference/estimators.html"])
def test_the_search_finds_pages_opened_from_the_disk(site, window, name):
    window.goto((site / name).as_uri())
    window.locator(".md-search__input").click()
    window.locator(".md-search__input").press_sequentially("checkpoint")
    page = (site / "command-line.html").as_uri()
    found = "links => links.map((link) => link.href)"  # at once, because the list changes while it is filled
    links = window.locator(".md-search-result__link")
    wait_until(window, lambda: any(link.startswith(page) for link in links.evaluate_all(found)))


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_repository_pages(name):
    for link in MARKDOWN_LINK.findall((ROOT / name).read_text(encoding="utf-8")):
        path, _, fragment = link.partition("#")
        assert (ROOT / path).exists(), link
        assert not fragment or fragment in _heading_anchors(ROOT / path), link


def _heading_anchors(page: Path):
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-")) for heading in headings}
