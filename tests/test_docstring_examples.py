"""Run the examples in the docstrings of everything public."""

import doctest
import inspect

import pytest

import snekhorn
from snekhorn import affinities, metrics, plots

PUBLIC = {
    f"{module.__name__}.{name}": getattr(module, name)
    for module in (snekhorn, affinities, metrics, plots)
    for name in module.__all__
    if callable(getattr(module, name))
}
CLASSES = sorted(name for name, value in PUBLIC.items() if inspect.isclass(value) and not inspect.isabstract(value))


@pytest.mark.parametrize("name", sorted(PUBLIC))
@pytest.mark.filterwarnings("ignore")
def test_examples(name):
    value = PUBLIC[name]
    for example in doctest.DocTestFinder(recurse=False).find(value, name, globs=vars(inspect.getmodule(value)).copy()):
        assert doctest.DocTestRunner().run(example).failed == 0


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_has_an_example(name):
    assert ">>>" in PUBLIC[name].__doc__
