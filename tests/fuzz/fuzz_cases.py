"""Cases of the properties: an affinity or an estimator with its parameters, and the points it is fitted to.

Every affinity and method of the registry takes part. A parameter that a class has and that OPTIONS lists varies; the
others keep their defaults.
"""

from dataclasses import dataclass, field, replace
from inspect import signature
from typing import Any

import numpy as np
from hypothesis import strategies as st
from scipy import sparse
from sklearn.neighbors import VALID_METRICS

from snekhorn.registry import AFFINITIES, METHODS

from .hard_points import FORMS, Layout, Points, Recipe, layouts, points, sizes

METRICS = sorted({*VALID_METRICS["brute"], "sqeuclidean"} - {"precomputed"})
GIVEN = ("precomputed matrix", "precomputed graph", "precomputed lists")  # forms of metric="precomputed"
FAST = 100.0  # learning rate at which points fly apart
FEW_STEPS = 60  # of the ascents of the paper, which may take thousands

metrics = st.one_of(st.just("sqeuclidean"), st.just("sqeuclidean"), st.sampled_from(METRICS), st.sampled_from(GIVEN))
booleans = st.booleans()

OPTIONS = {
    "balance": st.sampled_from([1.0, 1.0, 1.0, "auto", 0.5, 0.0]),
    "symmetrize": booleans,
    "self_loops": booleans,
    "gamma_squared": booleans,
    "solver": st.sampled_from(["newton"] * 6 + ["adam", "sgd", "lbfgs"]),
    "tol": st.sampled_from([1e-8, 1e-8, 1e-6, 1e-3]),
    "bandwidth": st.sampled_from([None, None, None, 1e-3, 1.0, 1e3]),
    "k": st.integers(1, 10),
}


def perplexities(n):
    """Draw perplexities from 1.01 to more than n."""
    return st.one_of(
        st.sampled_from([1.01, 1.5, 2.0, 5.0, 30.0, 1000.0]),
        st.sampled_from([float(n), n - 1.0, n - 2.0]).map(lambda xi: max(xi, 1.01)),
        st.floats(0.0, 1.0).map(lambda share: 1.01 + share * 1.2 * n),
    )


def neighbors(n):
    return st.one_of(st.none(), st.none(), st.just("auto"), st.integers(1, n + 1))


@dataclass(frozen=True, repr=False)
class AffinityCase(Recipe):
    """Affinity of the registry with its parameters, and the points that it is fitted to."""

    kind: str
    points: Points
    metric: str = "sqeuclidean"
    parameters: dict[str, Any] = field(default_factory=dict)

    def build(self, **extra):
        """Return the affinity, not fitted."""
        entry = AFFINITIES[self.kind]
        metric = self.metric.split()[0]
        return entry.load()(**{**entry.parameters, **self.parameters, "metric": metric, **extra})

    def data(self):
        """Return X in the form that the metric asks for."""
        return given(self.points, self.metric)

    def with_parameters(self, **parameters):
        """Return the case with some parameters changed."""
        return replace(self, parameters={**self.parameters, **parameters})

    def scaled(self, scale):
        """Return the case with other units of X."""
        return replace(self, points=replace(self.points, scale=scale))


@dataclass(frozen=True, repr=False)
class LayoutCase(Recipe):
    """Method of the registry with its parameters, and the points that it lays out."""

    kind: str
    points: Points
    metric: str = "sqeuclidean"
    affinity: Any = None
    init: Any = "pca"
    parameters: dict[str, Any] = field(default_factory=dict)

    def build(self, **extra):
        """Return the estimator, not fitted."""
        n_components = self.parameters.get("n_components", 2)
        init = self.init.build(self.points.n, n_components) if isinstance(self.init, Layout) else self.init
        affinity = self.affinity.build() if isinstance(self.affinity, AffinityCase) else self.affinity
        known = {"metric": self.metric.split()[0], "affinity": affinity, "init": init}
        return METHODS[self.kind].load()(**{**known, **self.parameters, **extra})

    def data(self):
        """Return X in the form that the metric or the affinity asks for."""
        if self.affinity == "precomputed":
            return precomputed_affinity(self.points)
        return given(self.points, self.cost_metric)

    def with_parameters(self, **parameters):
        """Return the case with some parameters changed."""
        return replace(self, parameters={**self.parameters, **parameters})

    def shortened(self, max_iter):
        """Return the case with at most so many iterations."""
        return self.with_parameters(max_iter=min(max_iter, self.parameters.get("max_iter", max_iter)))

    @property
    def cost_metric(self):
        """The metric of P."""
        return self.affinity.metric if isinstance(self.affinity, AffinityCase) else self.metric

    @property
    def places_new_points(self):
        """Whether `transform` takes features."""
        return self.affinity != "precomputed" and self.cost_metric not in GIVEN


def given(recipe, metric):
    """Return the points, or their squared distances in one of the forms of metric="precomputed"."""
    if metric not in GIVEN:
        return recipe.build()
    C = recipe.costs()
    if metric == "precomputed matrix":
        return C
    k = min(len(C) - 1, 12)
    others = C.copy()
    np.fill_diagonal(others, np.inf)
    near = np.argsort(others, axis=1, kind="stable")[:, :k]
    costs = np.take_along_axis(C, near, axis=1)
    if metric == "precomputed lists":
        return near, costs
    return sparse.csr_matrix((costs.ravel(), near.ravel(), k * np.arange(len(C) + 1)), shape=C.shape)


def precomputed_affinity(recipe):
    """Return a symmetric P in the form of the points: a kernel whose bandwidth is the median cost."""
    C = recipe.costs()
    with np.errstate(all="ignore"):
        P = np.exp(-C / (np.median(C) or 1.0))
    return FORMS[recipe.form](np.where(P > 0.3, P, 0.0))


@st.composite
def affinity_cases(draw, most=120, points_of=points, metrics=metrics):
    """Draw affinities, their parameters and their points."""
    kind = draw(st.sampled_from(list(AFFINITIES)))
    return draw(cases_of_kind(kind, draw(points_of(most)), draw(metrics)))


@st.composite
def cases_of_kind(draw, kind, recipe, metric):
    """Draw parameters of one affinity."""
    known = {name for name in signature(AFFINITIES[kind].load()).parameters if name not in AFFINITIES[kind].parameters}
    parameters = {"n_neighbors": draw(neighbors(recipe.n))}
    parameters |= {name: draw(values) for name, values in OPTIONS.items() if name in known}
    if "perplexity" in known:
        parameters["perplexity"] = draw(perplexities(recipe.n))
    if "perplexities" in known:
        several = st.lists(perplexities(recipe.n), min_size=1, max_size=3)
        parameters["perplexities"] = draw(st.one_of(st.just("auto"), several))
    if parameters.get("solver", "newton") != "newton":
        parameters["max_iter"] = FEW_STEPS
    if parameters.get("bandwidth") is not None:  # in units of the costs
        parameters["bandwidth"] *= min(max(recipe.scale, 1e-100), 1e100) ** 2
    return AffinityCase(kind, recipe, metric, _unusual(AFFINITIES[kind], parameters))


@st.composite
def layout_cases(draw, most=80, points_of=points, metrics=metrics):
    """Draw methods, their parameters and their points."""
    kind, recipe, metric = draw(st.sampled_from(list(METHODS))), draw(points_of(most)), draw(metrics)
    affinity = draw(st.sampled_from([None, None, "object", "precomputed"]))
    if affinity == "object":
        affinity = draw(cases_of_kind(draw(st.sampled_from(list(AFFINITIES))), recipe, metric))
    n_components = draw(st.sampled_from([2, 2, 1, 3]))
    parameters = {
        "n_components": n_components,
        "perplexity": draw(perplexities(recipe.n)),
        "n_neighbors": draw(neighbors(recipe.n)),
        "balance": draw(st.sampled_from(["auto", "auto", 1.0, 0.5, 0.0])),
        "self_loops": draw(booleans),
        "latent_self_loops": draw(st.sampled_from([True, True, False])),
        "early_exaggeration": draw(st.sampled_from([12.0, 12.0, 1.0, 4.0])),
        "exaggeration": draw(st.sampled_from([1.0, 1.0, 1.5, 4.0])),
        "learning_rate": draw(st.sampled_from(["auto", "auto", "auto", 0.01, 1.0, FAST])),
        "optimizer": draw(st.sampled_from(["momentum", "momentum", "adam"])),
        "max_iter": draw(st.sampled_from([1, 10, 60, 300])),
        "marginal_tol": draw(st.sampled_from([1e-2, 1e-2, 1e-5])),
        "method": draw(st.sampled_from(["auto", "exact", "fft"] if n_components < 3 else ["auto", "exact"])),
        "random_state": draw(st.integers(0, 9)),
    }
    init = draw(st.one_of(st.sampled_from(["pca", "pca", "spectral", "random"]), layouts()))
    wide = parameters["learning_rate"] == FAST or (isinstance(init, Layout) and init.width > 100.0)
    if wide and parameters["method"] == "fft":  # the grid then has millions of nodes
        parameters["max_iter"] = min(parameters["max_iter"], 3)
    return LayoutCase(kind, recipe, metric, affinity, init, _unusual(METHODS[kind], parameters))


def _unusual(entry, parameters):
    """Leave out the parameters that have their default, which makes examples shorter."""
    usual = signature(entry.load()).parameters
    return {name: value for name, value in parameters.items() if repr(value) != repr(usual[name].default)}


@st.composite
def tied_points(draw, most=400):
    """Draw recipes for many points with equal distances, whose order a search must not leave to chance."""
    recipe = draw(points(most))
    shape = draw(st.sampled_from(["counts", "binary", "integers", "grey levels", "lattice", "circle", "normal"]))
    return replace(recipe, shape=shape, n=draw(st.one_of(sizes(most), st.integers(most // 2, most))))
