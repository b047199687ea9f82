"""The code of the page, vendored and our own, as text for script elements."""

import re
from importlib.resources import files

FOLDER = files(__package__)

# In the order in which they need each other; together they are one function.
OWN = (
    "decode.js",
    "format.js",
    "table.js",
    "coloring.js",
    "plot.js",
    "pace.js",
    "legend.js",
    "tooltip.js",
    "selection.js",
    "search.js",
    "main.js",
)


def asset(name: str) -> str:
    """A file of ours."""
    return (FOLDER / "assets" / name).read_text(encoding="utf-8")


def scripts() -> list[str]:
    """What the page runs, in order, with the licences of what is not ours."""
    own = "\n".join(asset(name) for name in OWN)
    return [
        _licence("pub-sub-es") + _pub_sub(),
        _licence("regl") + _vendored("regl.min.js"),
        _licence("regl-scatterplot") + _licence("bundled") + _vendored("regl-scatterplot.min.js"),
        f"(() => {{\n{own}\n}})();",
    ]


def _licence(name: str) -> str:
    return f"/*! {name}\n{_vendored(f'LICENSE.{name}')}*/\n"


def _vendored(name: str) -> str:
    return (FOLDER / "vendor" / name).read_text(encoding="utf-8")


def _pub_sub() -> str:
    """pub-sub-es as a plain script, with a channel to nowhere: pages have nothing to tell each other."""
    body = re.sub(r"^export .*$", "", _vendored("pub-sub-es.js"), flags=re.MULTILINE)
    nowhere = "{ BroadcastChannel: class { postMessage() {} } }"
    return f"globalThis.createPubSub = ((window) => {{\n{body}\nreturn createPubSub;\n}})({nowhere});"
