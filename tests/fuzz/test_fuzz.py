"""Every property holds for a few cases, the same in every run; `make fuzz` tries many more."""

import contextlib

import pytest
from hypothesis import Phase, given, settings

from .fuzz_properties import PROPERTIES
from .recomputed import Refused

EXAMPLES = 12


@pytest.mark.parametrize("name", PROPERTIES)
def test_property_holds(name):
    cases, check = PROPERTIES[name]

    @settings(max_examples=EXAMPLES, phases=(Phase.generate, Phase.shrink))
    @given(cases)
    def holds(case):
        with contextlib.suppress(Refused):
            check(case)

    holds()
