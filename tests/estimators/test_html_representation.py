"""In a notebook, a fitted estimator says what was fitted, below the diagram of scikit-learn."""

import pytest
import sklearn
from sklearn.neighbors import KNeighborsTransformer

from snekhorn import TSNEkhorn
from snekhorn.affinities import EntropicAffinity

from ..helpers import clusters, squared_distances
from .cases import stops_early

pytestmark = stops_early


def shown(model):
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == repr(model)
    assert "Fitted layout" not in bundle["text/html"] or "Fitted layout" in model._repr_html_()
    return bundle["text/html"]


def test_a_fitted_estimator_says_what_was_fitted():
    model = TSNEkhorn(perplexity=100, max_iter=60)
    before = shown(model)
    assert "TSNEkhorn" in before
    assert "Fitted layout" not in before
    with pytest.warns(UserWarning, match="using 58"):
        model.fit(clusters(60))
    text = shown(model)
    for fact in ("points", ">60<", "features", f">{model.n_features_in_}<", "100 requested", "60 iterations"):
        assert fact in text
    with sklearn.config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()
        assert not hasattr(model, "_repr_html_")


def test_an_affinity_object_has_its_own_perplexity():
    text = shown(TSNEkhorn(affinity=EntropicAffinity(10.0, symmetrize=True), max_iter=60).fit(clusters(60)))
    assert ">10<" in text
    assert "requested" not in text


def test_costs_for_an_affinity_object_have_no_features():
    affinity = EntropicAffinity(10.0, metric="precomputed", symmetrize=True)
    text = shown(TSNEkhorn(affinity=affinity, max_iter=60).fit(squared_distances(clusters(60))))
    assert ">points<" in text
    assert ">features<" not in text


def test_precomputed_costs_have_no_features():
    graph = KNeighborsTransformer(n_neighbors=20).fit_transform(clusters(60))
    text = shown(TSNEkhorn(perplexity=8, metric="precomputed", max_iter=60).fit(graph))
    assert "Fitted layout" in text
    assert ">features<" not in text
