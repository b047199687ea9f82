"""Write the results page: a section with Markdown tables for every experiment that has results."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from .experiment import FAILED, SEPARATOR, Case, Cases, Experiment, finished
from .machine import sentence
from .results_file import read_results, write_complete

Summary: TypeAlias = Callable[[Mapping[str, Cases]], str]  # cases of every experiment, by name -> text of the page
ABSENT, PENDING = "not available", "not run yet"
NOTICEABLE = 0.1  # cores kept busy by other processes; less does not affect the reported times


def table(header: Sequence[str], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """Return a Markdown table, below its caption if there is one; None is shown as "not available"."""
    lines = [list(header), ["---"] * len(header), *([_text(value) for value in row] for row in rows)]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{caption}\n\n{text}" if caption else text


def figures(case: Mapping[str, Any], forms: Iterable[tuple[str, str]]) -> list[str]:
    """Format numbers of a case, each given by its key and format; missing numbers become dashes."""
    return ["–" if case.get(key) is None else format(case[key], form) for key, form in forms]


def figure_table(columns: Mapping[str, tuple[str, str]], cases: Iterable[Mapping[str, Any]], caption: str) -> str:
    """Return a table with one row per case; `columns` maps headings to keys and formats."""
    return table(list(columns), [figures(case, columns.values()) for case in cases], caption)


def part_tables(cases: Cases, renderers: Mapping[str, Callable[[list[Case]], str]], about: str = "") -> str:
    """Return the texts of all parts of a benchmark, each made from the finished cases of that "part".

    The text `about` stands above them, if there are any.
    """
    found = list(finished(cases).values())
    chosen = {part: [case for case in found if case["part"] == part] for part in renderers}
    texts = [renderers[part](cases) for part, cases in chosen.items() if cases]
    return "\n\n".join([about, *texts] if about and texts else texts)


def _text(value: Any) -> str:
    if value is None:
        return ABSENT
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def write_page(
    page: Path,
    folder: Path,
    introduction: str,
    experiments: Iterable[Experiment],
    summary: Summary | None = None,
) -> None:
    """Write the sections of all experiments that have results in the folder, below a summary of them."""
    parts, machine = [], ""
    results: dict[str, Cases] = {}
    for experiment in experiments:
        path = folder / f"{experiment.source or experiment.name}.json"
        if path.exists():
            record = read_results(path)
            results[experiment.name] = record["cases"]
            parts.append(_section(experiment, record, folder, page, machine))
            machine = sentence(record["machine"])
    lead = [introduction, summary(results)] if summary is not None else [introduction]
    write_complete(page, "\n\n".join([*lead, *parts]) + "\n")


def _section(experiment: Experiment, record: Mapping[str, Any], folder: Path, page: Path, machine: str) -> str:
    """Return a section; `machine` describes the machine and versions of the previous section."""
    cases = record["cases"]
    parts = [f"## {experiment.title}", _provenance(experiment, record, machine)]
    picture = folder / f"{experiment.name}.png"
    if picture.exists():
        parts.append(f"![{experiment.title}]({Path(os.path.relpath(picture, page.parent)).as_posix()})")
    parts.append(experiment.report(cases))
    if not experiment.source:
        parts += [_not_available(cases), "" if experiment.timed else _not_converged(cases)]
    return "\n\n".join(filter(None, parts))


def _provenance(experiment: Experiment, record: Mapping[str, Any], machine: str) -> str:
    """Return when, where and with which versions the cases were computed, and any reason not to quote the numbers."""
    cases, here = record["cases"], sentence(record["machine"])
    done = len(finished(cases))
    counts = {"computed": done, ABSENT: len(cases) - done, "remaining": record["planned"] - len(cases)}
    said = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count or what == "computed")
    seconds = record.get("seconds") or sum(case.get("seconds") or 0.0 for case in cases.values())
    where = "Same machine and versions as above" if here == machine else here
    text = f"*{record['date']}. Cases: {said}. Computing time: {seconds:,.0f} s. {where}.*"
    if record["quick"]:
        text += (
            " **A quick run on a few small cases, with other data in place of large or missing sets: do not quote "
            "these numbers.**"
        )
    others = record.get("busy_cores_of_others", 0.0)
    if experiment.timed and others > NOTICEABLE:
        text += f" Other processes kept {others:.1f} cores busy during the run, so the times are overestimates."
    return text


def _not_available(cases: Cases) -> str:
    """List each reason for missing cases once, and the cases that failed."""
    reasons = set()
    for key, case in cases.items():
        if reason := case.get("not_available"):
            reasons.add(f"{key} {reason}" if reason.startswith(FAILED) else reason)
    return "Not available:\n\n" + "\n".join(f"- {reason}" for reason in sorted(reasons)) if reasons else ""


def _not_converged(cases: Cases) -> str:
    """Quote the first convergence warning of each group of cases, and count the cases without such a record."""
    done = finished(cases)
    found: dict[str, list[str]] = {}
    for key, case in done.items():
        if case.get("not_converged"):
            found.setdefault(_without_numbers(key), []).append(case["not_converged"][0])
    lines = [f"- {group} ({_count(len(said))}): {said[0]}" for group, said in found.items()]
    heading = "First convergence warning of each group of cases, as recorded during the run:\n\n"
    parts = [heading + "\n".join(lines)] if lines else []
    unknown = sum("not_converged" not in case for case in done.values())
    if unknown:
        some = f"{unknown:,} of the {_count(len(done))}" if unknown < len(done) else f"any of the {_count(unknown)}"
        parts.append(f"Convergence was not recorded for {'the only case' if len(done) == 1 else some}.")
    return "\n\n".join(parts)


def _count(n: int) -> str:
    return f"{n:,} case{'s' * (n > 1)}"


def _without_numbers(key: str) -> str:
    """Return the key without its perplexity and other numbers."""
    return SEPARATOR.join(part for part in key.split(SEPARATOR) if not part.replace(".", "").isdigit())
