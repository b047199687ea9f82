"""Damage models and files by the thousand, open each in a process with limits, and report the defects.

    python -m tests.hostile.fuzz_files --flips 3000 --truncations 600
    python -m tests.hostile.fuzz_files --only t.h5ad csc.h5ad

A defect is a crash, a hang, an exception other than the one for bad input, a layout that is not finite, or memory
beyond ten times the size of the file plus 200 MB. A flipped bit may leave a valid file, which may be loaded. The exit
code is 1 if there are defects.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from .crafted_models import crafted_models
from .crafted_tables import crafted_tables
from .damage import damaged
from .good_files import write_all
from .hostile_cases import Outcomes, Runner


def run_crafted(good: dict[str, dict[str, Path]], runner: Runner) -> None:
    """Run the crafted files, all of which must be refused, with an error that names the file."""
    cases = [("transform", "m.npz", case, content) for case, content in crafted_models(good["transform"])]
    h5ad, with_raw = (good["embed"][name].read_bytes() for name in ("t.h5ad", "pca.h5ad"))
    cases += [("embed", f"t.{suffix}", case, content) for suffix, case, content in crafted_tables(h5ad, with_raw)]
    for command, name, case, content in cases:
        outcome = runner.run(command, name, content, case)
        if outcome == "loaded":
            runner.outcomes.defects.append(f"{command} {name}, {case}: loaded, but must be refused")
        elif outcome == "refused" and name not in runner.outcomes.message:
            runner.outcomes.defects.append(f"{command} {name}, {case}: not named in {runner.outcomes.message!r}")


def run_damaged(good: dict[str, dict[str, Path]], runner: Runner, *, flips: int, truncations: int, seed: int) -> None:
    """Run damaged copies: so many of each format, shared by the files of that format."""
    for command, files in good.items():
        formats = Counter(format_of(name) for name in files)
        for name, path in files.items():
            before = runner.outcomes.counts.copy()
            share = formats[format_of(name)]
            numbers = {"flips": -(-flips // share), "truncations": -(-truncations // share)}
            for case, content in damaged(path.read_bytes(), **numbers, seed=f"{seed} {name}"):
                runner.run(command, name, content, case)
            counts = dict(runner.outcomes.counts - before)
            print(f"{command} {name}: {counts}", flush=True)


def format_of(name: str) -> str:
    """Return the suffix, or both suffixes of a compressed file."""
    return name.partition(".")[2]


def run(folder: Path, *, flips: int, truncations: int, seed: int = 0, only: list[str] | None = None) -> Outcomes:
    """Run crafted and damaged files in a folder, or only damaged copies of the files with these names."""
    good = write_all(folder)
    cases = folder / "cases"
    cases.mkdir()
    runner = Runner(cases)
    try:
        for command, files in good.items():
            for path in files.values():
                runner.warm_up(command, path)
        if only is None:
            run_crafted(good, runner)
            print(f"crafted: {dict(runner.outcomes.counts)}", flush=True)
        else:
            good = {command: {name: files[name] for name in files if name in only} for command, files in good.items()}
        run_damaged(good, runner, flips=flips, truncations=truncations, seed=seed)
    finally:
        runner.close()
    return runner.outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--flips", type=int, default=3000, help="bit flips of each format, and of models")
    parser.add_argument("--truncations", type=int, default=600, help="likewise")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other damage")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="damage only these files, and run no crafted ones")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = run(
            Path(folder),
            flips=options.flips,
            truncations=options.truncations,
            seed=options.seed,
            only=options.only,
        )
    print(*found.defects, sep="\n")
    print(f"{sum(found.counts.values())} cases: {dict(found.counts)}; at most {found.most_bytes >> 20} MB extra")
    return 1 if found.defects else 0


if __name__ == "__main__":
    sys.exit(main())
