"""python -m benchmarks [names ...]: measure, write JSON, and make the page of the documentation from it."""

import argparse
import importlib
import json
import time
from datetime import datetime, timezone
from pathlib import Path

from . import machine
from .data import folder
from .measure import ROOT, say

TITLES = {
    "convergence": "Convergence",
    "peers": "Beside other packages",
    "scale": "Time and memory",
    "neighbors": "Neighbours",
    "hubs": "Hubs",
    "speed": "Speed of layouts",
    "growth": "Growth",
    "quality": "Quality of layouts",
    "study": "Choices of the method",
    "starts": "Descent or loss",
    "page": "Interactive page",
}
WITHOUT_DATA = {"hubs", "page"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=f"which: {', '.join(TITLES)}; all if none is given")
    parser.add_argument("--quick", action="store_true", help="few and small cases, to see that everything runs")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "benchmarks", help="folder of the JSON files")
    parser.add_argument("--render", action="store_true", help="only make the page again from the JSON files")
    args = parser.parse_args()
    if unknown := set(args.names) - set(TITLES):
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}; there are {', '.join(TITLES)}")
    if not args.render:
        names = [name for name in TITLES if name in (args.names or TITLES)]
        if folder() is None and not set(names) <= WITHOUT_DATA:
            parser.error("set SNEKHORN_DATA to the folder that holds the data sets; only hubs and page need none")
        for name in names:
            measure(name, args.out, quick=args.quick)
    page = args.out.with_suffix(".md")
    page.write_text(render(args.out))
    say(f"wrote {page}")


def measure(name: str, out: Path, *, quick: bool) -> None:
    """Run one benchmark and write its results, with what they were measured on."""
    say(f"{name} ...")
    start, (all_before, own_before) = time.perf_counter(), machine.busy_seconds()
    results = importlib.import_module(f".{name}", __package__).run(quick)
    seconds, (all_after, own_after) = time.perf_counter() - start, machine.busy_seconds()
    others = (all_after - all_before) - (own_after - own_before)
    record = {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "quick": quick,
        "seconds": round(seconds),
        "busy_cores_of_others": round(max(others, 0.0) / seconds, 2),
        "machine": machine.describe(),
        "results": results,
    }
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    say(f"{name}: {record['seconds']} s")


def render(out: Path) -> str:
    """The page: a section for every benchmark that has results."""
    parts = ["# Benchmarks", "Measured by `make bench`, which writes this page; do not edit it by hand."]
    said = None
    for name, title in TITLES.items():
        path = out / f"{name}.json"
        if not path.exists():
            continue
        record = json.loads(path.read_text())
        parts.append(f"## {title}")
        where = machine.sentence(record["machine"])
        note = f"{record['date']}, {'as above' if where == said else where}"
        parts += [
            f"*{note}*{_doubts(record)}",
            importlib.import_module(f".{name}", __package__).table(record["results"]),
        ]
        said = where
    return "\n\n".join(parts) + "\n"


def _doubts(record):
    """Why the figures are not to be quoted, where they are not."""
    quick = " A quick run on few, small cases: not the figures to quote." if record["quick"] else ""
    others = record["busy_cores_of_others"]
    return quick + (f" Other work kept {others:.1f} cores busy meanwhile: times are too long." if others > 0.1 else "")


if __name__ == "__main__":
    main()
