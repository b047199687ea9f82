import pytest

from snekhorn.embedding.grid_potential import DEFAULT, TIGHT, GridSum
from snekhorn.embedding.latent import DIRECT_LIMIT, Latent, choose_method, potential
from snekhorn.embedding.normalizations import DoublyStochastic, RowSums, TotalSum
from snekhorn.embedding.potentials import DirectSum, Kernel


@pytest.mark.parametrize(("normalized", "kind"), [("both", DoublyStochastic), ("total", TotalSum), ("rows", RowSums)])
@pytest.mark.parametrize("self_loops", [True, False])
def test_normalisation_of_a_method(normalized, kind, self_loops):
    sums = DirectSum(Kernel.STUDENT)
    latent = Latent(Kernel.STUDENT, normalized)
    found = latent.normalization(sums, self_loops=self_loops)
    assert type(found) is kind
    assert found.sums is sums
    assert latent.doubly_stochastic == (kind is DoublyStochastic)
    assert getattr(found, "self_loops", self_loops) == self_loops


@pytest.mark.parametrize("d", [1, 2])
def test_auto_takes_the_grid_for_many_points(d):
    assert choose_method("auto", DIRECT_LIMIT[d], d) == "exact"
    assert choose_method("auto", DIRECT_LIMIT[d] + 1, d) == "fft"


def test_there_is_no_grid_in_three_dimensions():
    assert choose_method("auto", 10**6, 3) == "exact"
    with pytest.raises(ValueError, match=r"method='fft'.*got 3; use 'exact' or 'auto'"):
        choose_method("fft", 10, 3)


@pytest.mark.parametrize("method", ["exact", "fft"])
def test_a_method_asked_for_is_taken(method):
    assert choose_method(method, 10, 2) == choose_method(method, 10**6, 2) == method


def test_sums_of_a_method():
    assert potential("exact", Kernel.GAUSSIAN, 3) == DirectSum(Kernel.GAUSSIAN, 3)
    for accuracy in (DEFAULT, TIGHT):
        grid = potential("fft", Kernel.GAUSSIAN, 3, accuracy)
        assert isinstance(grid, GridSum)
        assert (grid.kernel, grid.n_threads, grid.accuracy) == (Kernel.GAUSSIAN, 3, accuracy)
