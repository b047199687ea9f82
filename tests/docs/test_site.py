"""The site builds without a warning, its links lead somewhere, and it loads nothing from the network."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from ..page.browser import ARGUMENTS, chromium
from .pages import ROOT

pytest.importorskip("mkdocs", reason="mkdocs is not installed")
LOADED = re.compile(r"""url\(["']?([^"')]+)|@import\s+["']([^"']+)""")  # in a style sheet
MARKDOWN_LINK = re.compile(r"\]\(([^)\s]+)\)")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder that mkdocs builds; a warning is a failure."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert result.returncode == 0, result.stderr
    return folder


class _Page(HTMLParser):
    """What a page links to, what it loads, and the names of its parts."""

    def __init__(self, file):
        super().__init__()
        self.links, self.loaded, self.names = [], [], {""}
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.names.add(values.get("id", ""))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        elif tag == "link" and values.get("href"):
            self.loaded.append(values["href"])
        elif values.get("src"):
            self.loaded.append(values["src"])


@pytest.fixture(scope="module")
def pages(site):
    return {file: _Page(file) for file in site.rglob("*.html")}


def test_every_page_of_the_navigation_is_there(pages, site):
    found = {str(file.relative_to(site)) for file in pages}
    assert {"index.html", "commands.html", "limits.html", "changes.html", "reference/estimators.html"} <= found


def test_links_lead_somewhere(pages):
    broken = [
        f"{file.name}: {link}"
        for file, page in pages.items()
        if file.name != "404.html"  # it is served at any address, and links from the root
        for link in page.links
        if not urlsplit(link).scheme and not _leads_somewhere(file, link, pages)
    ]
    assert not broken


def _leads_somewhere(file, link, pages):
    parts = urlsplit(link)
    target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
    target = target / "index.html" if target.is_dir() else target
    return target in pages and unquote(parts.fragment) in pages[target].names


def test_nothing_is_loaded_from_the_network(pages, site):
    styles = [file.read_text(encoding="utf-8") for file in site.rglob("*.css")]
    loaded = [address for page in pages.values() for address in page.loaded]
    loaded += [a or b for style in styles for a, b in LOADED.findall(style)]
    assert loaded
    assert not [address for address in loaded if urlsplit(address).scheme not in ("", "data") or "//" in address[:2]]


def test_a_browser_asks_the_network_for_nothing(site):
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if chromium() is None:
        pytest.skip("no chromium to open the site with")
    asked = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        for name in ("index.html", "reference/estimators.html"):
            page.goto((site / name).as_uri())
            page.wait_for_load_state("networkidle")
        browser.close()
    assert asked
    assert not [address for address in asked if not address.startswith(("file:", "data:", "blob:"))]


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_of_pages_outside_the_site(name):
    for link in MARKDOWN_LINK.findall((ROOT / name).read_text(encoding="utf-8")):
        path, _, fragment = link.partition("#")
        assert (ROOT / path).exists(), link
        assert not fragment or fragment in _heading_names(ROOT / path), link


def _heading_names(page: Path):
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-")) for heading in headings}
