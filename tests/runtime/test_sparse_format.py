"""A sparse matrix whose arrays do not match its shape is refused at every door, because compiled loops trust them."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from snekhorn import TSNE, TSNEkhorn, metrics
from snekhorn.affinities import EntropicAffinity, row_perplexities
from snekhorn.affinities.affinity import Affinity
from snekhorn.anndata import tsnekhorn
from snekhorn.errors import InputError
from snekhorn.estimators.sweep import sweep
from snekhorn.geometry.costs import NeighborGraph
from snekhorn.geometry.preprocessing import Preprocessing
from snekhorn.plots import scatter
from snekhorn.runtime.sparse_format import check_sparse
from snekhorn.solvers.solve_report import SolveReport

FAR = 10**7


def _square(seed=0, n=30):
    return sparse.random(n, n, 0.4, format="csr", random_state=np.random.RandomState(seed)) + sparse.eye(n)


def _csr_indices(X):
    X.indices[3] = FAR


def _csr_negative(X):
    X.indices[3] = -FAR


def _csr_starts(X):
    X.indptr[4] = FAR


def _csr_decreasing(X):
    X.indptr[4], X.indptr[5] = X.indptr[5] + 1, X.indptr[4]


def _csr_end(X):
    X.indptr[-1] = FAR


def _few_indices(X):
    X.indices = X.indices[:5]


def _few_values(X):
    X.data = X.data[:5]


def _few_starts(X):
    X.indptr = X.indptr[:5]


def _fractions(X):
    X.indices = X.indices + 0.5


COMPRESSED = (
    *(_csr_indices, _csr_negative, _csr_starts, _csr_decreasing, _csr_end),
    *(_few_indices, _few_values, _few_starts, _fractions),
)


def _coo_row(X):
    X.row[3] = FAR


def _coo_column(X):
    X.col[3] = -1


def _coo_lengths(X):
    X.data = X.data[:5]


def _lil_column(X):
    X.rows[2][0] = FAR


def _lil_lengths(X):
    X.data[2].append(1.0)


def _dia_offsets(X):
    X.offsets = X.offsets[:2]


CASES = [
    *((form, change) for form in ("csr", "csc", "bsr") for change in COMPRESSED),
    *(("coo", change) for change in (_coo_row, _coo_column, _coo_lengths)),
    *(("lil", change) for change in (_lil_column, _lil_lengths)),
    ("dia", _dia_offsets),
]


@pytest.mark.parametrize(("form", "change"), CASES)
def test_every_fault_is_named(form, change):
    X = _square().asformat(form)
    check_sparse(X, "X")
    change(X)
    with pytest.raises(InputError, match=rf"X is a corrupt sparse matrix of shape 30 x 30 in {form.upper()} format: "):
        check_sparse(X, "X")


def test_sparse_arrays_of_one_dimension():
    with pytest.raises(InputError, match="X is a 1-dimensional sparse array"):
        check_sparse(sparse.coo_array(np.ones(3)), "X")


def test_empty_and_dense():
    check_sparse(sparse.csr_matrix((3, 0)), "X")
    check_sparse(np.ones(3), "X")


def _transform(X):
    TSNEkhorn(perplexity=5, max_iter=5).fit(_square(1).toarray()).transform(X)


def _cells(**changed):
    """Return what `tsnekhorn` reads of an AnnData object, which does not accept every sparse format."""
    return SimpleNamespace(
        **{"X": _square(1).toarray(), "obsm": {}, "obsp": {"distances": _square(1)}, "uns": {}, **changed}
    )


class _OwnAffinity(Affinity):
    """Affinity of a user, whose `compute` returns what it was given."""

    def __init__(self, P=None):
        super().__init__()
        self.P = P

    def compute(self, cost):
        return self.P, SolveReport(True, 1, 1, 0.0, 0.0, "converged")  # noqa: FBT003


DOORS = {
    "fit": lambda X: TSNEkhorn(perplexity=5).fit(X),
    "another method": lambda X: TSNE(perplexity=5, n_neighbors=10).fit(X),
    "precomputed affinity": lambda X: TSNE(affinity="precomputed").fit(X),
    "precomputed graph": lambda X: TSNEkhorn(perplexity=5, metric="precomputed").fit(X),
    "own affinity": lambda X: TSNE(affinity=_OwnAffinity(X)).fit(_square(1).toarray()),
    "transform": _transform,
    "sweep": lambda X: list(sweep(TSNEkhorn(), X, [5.0])),
    "affinity": lambda X: EntropicAffinity(5.0).fit(X),
    "affinity of a graph": lambda X: EntropicAffinity(5.0, metric="precomputed").fit(X),
    "perplexities": row_perplexities,
    "preprocessing": lambda X: Preprocessing(standardize=True).fit(X),
    "preprocessing new points": lambda X: Preprocessing(n_components=2).fit(_square(1)).transform(X),
    "scores": lambda X: metrics.evaluate(X, np.random.default_rng(0).normal(size=(30, 2))),
    "drawing": scatter,
    "AnnData": lambda X: tsnekhorn(_cells(X=X)),
    "AnnData obsm": lambda X: tsnekhorn(_cells(obsm={"some": X}), use_rep="some"),
    "AnnData obsp": lambda X: tsnekhorn(_cells(obsp={"distances": X}), obsp="distances"),
    "AnnData initial layout": lambda X: tsnekhorn(_cells(X=X), obsp="distances", use_rep="X"),
}


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_door_is_closed(door, form):
    X = _square().asformat(form)
    (X.row if form == "coo" else X.indices)[3] = FAR
    with pytest.raises(InputError, match="is a corrupt"):
        DOORS[door](X)


def test_a_graph_of_the_library_is_checked_too():
    X = _square().tocsr()
    X.indices[3] = FAR
    with pytest.raises(InputError, match="is a corrupt"):
        EntropicAffinity(5.0, metric="precomputed").fit(NeighborGraph(X.indptr, X.indices, X.data))
