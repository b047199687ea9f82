"""Check that pages match the code they describe."""

import ast
import json
import re
import runpy

from snekhorn.cli.app import app
from snekhorn.registry import AFFINITIES, METHODS

from ..fuzz.fuzz_properties import PROPERTIES
from .pages import ROOT

TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)(?:\[(\w+)\])?`( \(slow\))?")
PATH = re.compile(r"`([a-z_]+(?:/[a-z_]+)*(?:\.py|/))`")


def test_every_command_and_option_is_described():
    text = runpy.run_path(str(ROOT / "docs" / "commands.py"))["command_sections"]()
    for info in app.registered_commands:
        assert f"## snekhorn {info.callback.__name__}\n" in text
    assert all(f"`{kind}`" in text for kind in (*AFFINITIES, *METHODS))


def test_the_range_of_the_recall_is_that_of_the_benchmarks():
    cases = json.loads((ROOT / "docs" / "benchmarks" / "defaults.json").read_text(encoding="utf-8"))["cases"].values()
    recalls = {}
    for case in cases:
        if case["part"] == "sets" and case["tool"] == "t-SNEkhorn":
            recalls.setdefault(case["data"], []).append(case["neighbor_recall"])
    means = [sum(found) / len(found) for found in recalls.values()]
    for page in ("index.md", "limits.md"):
        text = " ".join((ROOT / "docs" / page).read_text(encoding="utf-8").split())
        ends = f"t-SNEkhorn with default parameters ranges from {min(means):.2f} to {max(means):.2f}"
        assert ends in text


def test_decisions_name_existing_files():
    paths = PATH.findall((ROOT / "docs" / "decisions.md").read_text(encoding="utf-8"))
    assert paths
    assert not [path for path in paths if not (ROOT / "src" / "snekhorn" / path).exists()]


def test_every_promise_names_existing_tests():
    text = (ROOT / "docs" / "promises.md").read_text(encoding="utf-8")
    for promise in text.split("\n## ")[1:]:
        assert TEST.search(promise), f"no test holds the promise {promise.splitlines()[0]!r}"
    for path, name, case, slow in TEST.findall(text):
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        tests = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name in tests, f"{path}::{name}"
        marks = map(ast.unparse, tests[name].decorator_list)
        assert ("pytest.mark.slow" in marks) == bool(slow), f"{path}::{name} is slow, or is not"
        assert not case or case in PROPERTIES, case
    assert {case for _, _, case, _ in TEST.findall(text) if case} == set(PROPERTIES)
