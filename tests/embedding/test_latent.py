import pytest

from snekhorn.embedding.charge_grid import DEFAULT, TIGHT, GridSums
from snekhorn.embedding.charge_sums import DirectSums, Kernel
from snekhorn.embedding.latent import DIRECT_LIMIT, Latent, choose_method, make_charge_sums
from snekhorn.embedding.normalizations import DoublyStochastic, RowNormalized, TotalNormalized
from snekhorn.runtime.execution import Threads


@pytest.mark.parametrize(
    ("normalized", "kind"), [("both", DoublyStochastic), ("total", TotalNormalized), ("rows", RowNormalized)]
)
@pytest.mark.parametrize("self_loops", [True, False])
def test_normalisation_of_a_method(normalized, kind, self_loops):
    sums = DirectSums(Kernel.STUDENT, Threads())
    latent = Latent(Kernel.STUDENT, normalized)
    found = latent.normalization(sums, self_loops=self_loops)
    assert type(found) is kind
    assert found.sums is sums
    assert latent.doubly_stochastic == (kind is DoublyStochastic)
    assert getattr(found, "self_loops", self_loops) == self_loops


@pytest.mark.parametrize("d", [1, 2, 3])
def test_auto_takes_the_grid_for_many_points(d):
    assert choose_method("auto", DIRECT_LIMIT[d], d) == "exact"
    assert choose_method("auto", DIRECT_LIMIT[d] + 1, d) == "fft"


@pytest.mark.parametrize("method", ["exact", "fft"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_method_asked_for_is_taken(method, d):
    assert choose_method(method, 10, d) == choose_method(method, 10**6, d) == method


def test_sums_of_a_method():
    execution = Threads(3)
    direct = make_charge_sums("exact", Kernel.GAUSSIAN, execution)
    assert direct == direct.refined() == DirectSums(Kernel.GAUSSIAN, execution)
    grid = make_charge_sums("fft", Kernel.GAUSSIAN, execution)
    for sums, accuracy in ((grid, DEFAULT), (grid.refined(), TIGHT)):
        assert isinstance(sums, GridSums)
        assert (sums.kernel, sums.execution, sums.accuracy) == (Kernel.GAUSSIAN, execution, accuracy)
