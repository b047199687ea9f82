"""Every property holds for a few cases, the same in every run; `make fuzz` tries many more."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings

import snekhorn

from .found_cases import FOUND
from .fuzz_properties import PROPERTIES
from .long_run import run_case
from .recomputed import USELESS, Refused

EXAMPLES = 40


@pytest.mark.parametrize("name", PROPERTIES)
def test_property_holds(name):
    cases, check = PROPERTIES[name]

    @settings(max_examples=EXAMPLES, phases=(Phase.generate, Phase.shrink))
    @given(cases)
    def holds(case):
        with contextlib.suppress(Refused):
            check(case)

    holds()


@pytest.mark.parametrize(("name", "case"), FOUND)
def test_what_failed_once_holds(name, case):
    with contextlib.suppress(Refused):
        run_case(name, case)


@pytest.mark.parametrize("advice", [advice for advice, _, _ in USELESS])
def test_the_advice_that_is_looked_for_is_still_given(advice):
    assert any(advice in path.read_text() for path in Path(snekhorn.__file__).parent.rglob("*.py"))
