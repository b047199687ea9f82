"""Open files in a process of its own, one after the other, and report what happened and how much memory it took.

Reads lines of JSON, {"command", "file", "folder"}, from stdin, and writes one line of JSON for each to stdout.
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys
import warnings
from contextlib import redirect_stderr
from pathlib import Path

import numpy as np
from typer.main import get_command

import snekhorn
from snekhorn.cli.app import app
from snekhorn.errors import InputError
from snekhorn.io import read_layouts

from .good_files import P, points

ADDRESSES = 8 << 30  # bytes that the process may map in addition to what it has; protects the machine
program = get_command(app)
FAILED_WELL = 2  # exit code for bad input


def attempt(command: str, file: Path, folder: Path) -> tuple[str, str]:
    """Return "loaded" or "refused", or a description of the defect; and the message of the error."""
    warnings.simplefilter("ignore")
    out = folder / "out.csv"
    out.unlink(missing_ok=True)
    quickly = ["--jobs", "1", "--quiet", "--force", "--out", str(out)]
    if command == "transform":
        if (answer := _load(file)) is not None:
            return answer
        arguments = ["transform", str(file), str(folder / "new.csv"), *quickly]
    else:
        arguments = ["embed", str(file), "--max-iter", "5", "--no-scores", *quickly]
    if file.suffix == ".h5ad":
        arguments += ["--color", "gene1"]  # is read from raw or X, even if X_pca has the features
    code, printed = _run(arguments)
    if code == FAILED_WELL and printed.startswith("error: ") and printed.count("\n") == 1:
        return "refused", printed
    if code != 0:
        return f"exit code {code}: {printed[:500]}", printed
    layout = read_layouts(out).only  # raises if a coordinate is not finite
    return ("loaded" if np.isfinite(layout).all() else "a layout that is not finite"), ""


def _run(arguments: list[str]) -> tuple[object, str]:
    """Run the program; return its exit code, or the exception that it did not handle, and what it printed."""
    printed = io.StringIO()
    with redirect_stderr(printed):
        try:
            program(arguments, prog_name="snekhorn")
        except SystemExit as end:
            return end.code, printed.getvalue()
        except BaseException as error:
            return repr(error), printed.getvalue()
    return 0, printed.getvalue()


def _load(file: Path) -> tuple[str, str] | None:
    """Return None if the model can be loaded."""
    try:
        snekhorn.load(file)
    except InputError as error:
        return "refused", str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}", str(error)
    return None


def reset_peak() -> None:
    """Start a new measurement of the peak memory."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def memory(name: str) -> int:
    """Return VmRSS, VmHWM (its peak) or VmSize of this process, in bytes."""
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def main() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (memory("VmSize") + ADDRESSES, hard))
    answers = os.dup(1)
    os.dup2(2, 1)  # libraries may print; answers go to a copy of stdout
    for line in sys.stdin:
        case = json.loads(line)
        folder = Path(case["folder"])
        if not (folder / "new.csv").exists():
            header = ",".join(f"c{j}" for j in range(P))
            np.savetxt(folder / "new.csv", points()[:5] + 0.1, delimiter=",", header=header, comments="")
        before = memory("VmRSS")
        reset_peak()
        outcome, message = attempt(case["command"], Path(case["file"]), folder)
        answer = {"outcome": outcome, "message": message, "extra_bytes": memory("VmHWM") - before}
        os.write(answers, (json.dumps(answer) + "\n").encode())


if __name__ == "__main__":
    main()
