"""The files of a layout: table, picture, page, model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import InputError
from ..io.layout_files import LAYOUT_SUFFIXES
from ..io.layout_files import TABLE_SUFFIXES as TABLES
from ..io.safe_output import check_output, replacing
from ..io.table_files import READERS
from .session import Session

PICTURES = (".png", ".svg", ".pdf")
PAGES = (".html",)
MODELS = (".npz",)


@dataclass(frozen=True)
class Outputs:
    """Where to write; None where not asked for."""

    table: Path | None = None
    plot: Path | None = None
    html: Path | None = None
    model: Path | None = None

    @property
    def paths(self) -> dict[str, Path]:
        named = {"table": self.table, "plot": self.plot, "html": self.html, "model": self.model}
        return {name: path for name, path in named.items() if path is not None}

    def check(self, inputs: list[Path], *, force: bool, several: bool) -> None:
        """Raise before any work where one of them cannot be written."""
        kinds = {"table": LAYOUT_SUFFIXES, "plot": PICTURES, "html": PAGES, "model": MODELS}
        check_files([(path, kinds[name]) for name, path in self.paths.items()], inputs, force=force)
        if several and self.table is not None and self.table.suffix.lower() not in TABLES:
            raise InputError(f"{self.table} holds one layout, several were asked for; choose {', '.join(TABLES)}.")
        if several and self.model is not None:
            raise InputError("--save-model keeps one layout, several perplexities were asked for; choose one.")


def check_files(outputs: list[tuple[Path, tuple[str, ...]]], inputs: list[Path], *, force: bool) -> None:
    """Raise where a file cannot be written, is named twice, or is an input."""
    taken = {path.resolve() for path in inputs}
    for path, suffixes in outputs:
        check_output(path, suffixes, force=force)
        if path.resolve() in taken:
            raise InputError(f"{path} is named twice, or is the input; choose another name.")
        taken.add(path.resolve())


def default_outputs(input: Path, method: str) -> Outputs:
    """Beside where the user is: a table, a picture and a page, called after the input."""
    suffix = next((suffix for suffix in sorted(READERS, key=len)[::-1] if input.name.lower().endswith(suffix)), "")
    stem = f"{input.name[: len(input.name) - len(suffix)]}.{method}"
    return Outputs(Path(f"{stem}.parquet"), Path(f"{stem}.png"), Path(f"{stem}.html"))


def write_each(run: Session, writers: dict[Path, Callable[[Path], None]]) -> None:
    """Write every file, whole or not at all; one that fails does not cost the others."""
    failures, written = [], []
    for path, write in writers.items():
        try:
            with run.stage("write", f"writing {path}"), replacing(path) as file:
                write(file)
            written.append(str(path))
        except InputError as error:
            failures.append(str(error))
        except (ValueError, MemoryError, OSError) as error:
            failures.append(f"{path} could not be written ({str(error) or type(error).__name__}).")
        except KeyboardInterrupt:
            run.interrupted = True
            failures.append(f"{path} was interrupted and is not there.")
            break
    if failures:
        others = f" Written: {', '.join(written)}." if written else ""
        raise InputError(" ".join(failures) + others)
