"""A browser that opens pages, for the tests that need one."""

import pytest

from .browser import ARGUMENTS, HANGS, chromium

READBACKS = ("Multiple readback operations", "GPU stall due to ReadPixels")  # warnings that `pixel` causes


@pytest.fixture(scope="module")
def browser():
    """Start the browser once per file of tests."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if chromium() is None:
        pytest.skip("no chromium to open the page with")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser):
    """Open a page and wait until it is ready; fail if it uses the network or logs a message."""
    contexts = []
    messages, requests = [], []

    def note(text):
        if not any(warning in text for warning in READBACKS):
            messages.append(text)

    def open_page(path, *, script=None, ready=True, **options):
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 700}, "offline": True, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(HANGS)
        page.on("console", lambda message: note(message.text))
        page.on("pageerror", lambda error: messages.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        if script:
            page.add_init_script(script)
        page.goto(path.as_uri())
        if ready:
            page.evaluate("window.snekhorn.ready")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not messages
    assert all(url.startswith(("file:", "blob:")) for url in requests)
    assert len([url for url in requests if url.startswith("file:")]) == len(contexts)
