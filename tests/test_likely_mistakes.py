"""Likely mistakes in calls from Python: each is an `InputError` that names the parameter and the remedy."""

import io

import numpy as np
import pytest

import snekhorn
from snekhorn import SNEkhorn, TSNEkhorn, affinities, datasets, metrics, plots
from snekhorn.errors import InputError, shown
from snekhorn.page import write_page

X = np.random.default_rng(0).normal(size=(40, 5))
Z, Y = X[:, :2], np.arange(40) % 3
NAMES = [f"cell {i}" for i in range(200)]

MISTAKES = {
    "a path in a folder that does not exist": [
        (lambda: plots.save(plots.scatter(Z), "nodir/x.png"), "the folder nodir does not exist; create it first"),
        (lambda: snekhorn.show(Z).save("nodir/x.html"), "the folder nodir does not exist; create it first"),
        (lambda: write_page("nodir/x.html", Z), "the folder nodir does not exist; create it first"),
        (lambda: datasets.load("digits", "nodir"), "nodir does not exist"),
    ],
    "no path": [
        (lambda: plots.save(plots.scatter(Z), None), "file must be text or a pathlib.Path, or a binary file, got None"),
        (lambda: plots.save(plots.scatter(Z), io.StringIO()), "file must be text or a pathlib.Path"),
        (lambda: plots.save(plots.scatter(Z), ".", format="png"), ". is a folder; pass the name of a file"),
        (lambda: snekhorn.show(Z).save(None), "got None; pass the name of a file"),
        (lambda: write_page(None, Z), "got None; pass the name of a file"),
        (lambda: write_page(".", Z), ". is a folder; pass the name of a file"),
        (lambda: snekhorn.show(Z, {"a": ["b"] * 40}, images="a", image_folder=5), "image_folder must be text"),
        (lambda: snekhorn.load(None), "path must be text or a pathlib.Path, got None; pass the name of a file"),
        (lambda: snekhorn.load(X), r"got ndarray of shape \(40, 5\)"),
        (lambda: snekhorn.load("a" * 5000), "cannot be read"),
        (lambda: snekhorn.load("a\0b"), "path must be text"),
        (lambda: TSNEkhorn().save(None), "path must be text or a pathlib.Path, got None"),
        (lambda: datasets.load("digits", 5), "folder must be text or a pathlib.Path, got 5; pass the name of a folder"),
    ],
    "the wrong kind of object, or the wrong order": [
        (lambda: plots.save(Z, "x.png"), r"figure must be a Matplotlib figure or axes, got ndarray of shape \(40, 2\)"),
        (lambda: plots.save("x.png", plots.scatter(Z)), "figure must be a Matplotlib figure or axes, got 'x.png'"),
        (lambda: plots.sheet([Z, Z], Y), r"layouts must be a dictionary, got list of length 2; pass \{'first': Z1"),
        (lambda: plots.sheet(Z, Y), "layouts must be a dictionary, got ndarray"),
        (lambda: plots.sheet({"a": Z}, Y, subtitles=["b"]), r"subtitles must be a dictionary, got \['b'\]"),
        (lambda: plots.scatter(Z, ax=plots.scatter(Z).figure), "ax must be Matplotlib axes, got <ShownFigure"),
        (lambda: plots.row_perplexities(Y + 2.0, ax=5), "ax must be Matplotlib axes, got 5"),
        (lambda: plots.loss([1, 2], [1, 2], ax=5), "ax must be Matplotlib axes, got 5"),
        (lambda: plots.scatter([[1, 2], [3]]), "Z is not an array"),
        (lambda: plots.scatter(Z, "y"), "values must be one value per point, got the text 'y'"),
        (lambda: snekhorn.show([[1, 2], [3]]), "Z is not an array"),
        (lambda: snekhorn.show(Z, Y, summary="text"), "summary must be a dictionary, got 'text'"),
        (lambda: snekhorn.show(Z, Y, data=X, metric=Y), r"got ndarray of shape \(40,\)"),
        (lambda: list(snekhorn.sweep(TSNEkhorn, X, [10])), r"model is the class TSNEkhorn; .* TSNEkhorn\(\)"),
        (lambda: list(snekhorn.sweep(X, TSNEkhorn(), [10])), r"got ndarray of shape \(40, 5\); pass one, as in sweep"),
        (lambda: list(snekhorn.sweep(affinities.SymmetricEntropicAffinity(), X, [10])), "must be an estimator of"),
        (lambda: snekhorn.save(SNEkhorn(), "x.npz"), "SNEkhorn instance is not fitted yet"),
        (lambda: TSNEkhorn().transform(X), "TSNEkhorn instance is not fitted yet"),
        (lambda: TSNEkhorn().fit("x.csv"), "X is 'x.csv', not an array; read the file first"),
        (lambda: metrics.knn_accuracy(Y, Z), r"Z has shape \(40,\), but needs a row for each point"),
        (lambda: metrics.evaluate(X, Z, random_state="x"), "random_state must be a whole number .*; got 'x'"),
        (lambda: affinities.row_perplexities(Y), r"P has shape \(40,\)"),
        (lambda: affinities.row_perplexities("x"), r"P has shape \(\)"),
    ],
    "values instead of a name": [
        (
            lambda: plots.scatter(Z, label=Y),
            r"label must be text, got ndarray of shape \(40,\); .* second argument",
        ),
        (lambda: plots.sheet({"a": Z}, label=5), "label must be text, got 5"),
        (lambda: plots.scatter(Z, title=Y), "title must be text, got ndarray"),
        (lambda: plots.row_perplexities(Y + 2.0, title=Y), "title must be text, got ndarray"),
        (lambda: plots.loss([1, 2], [1, 2], subtitle=Y), "subtitle must be text, got ndarray"),
        (lambda: plots.scatter(Z, Z[:, 0], colormap=Y), "colormap must be the name of a Matplotlib colormap, got ndar"),
        (lambda: snekhorn.show(Z, {"y": Y}, ids=NAMES), "ids must be text, got list of length 200; pass the name of a"),
        (lambda: snekhorn.show(Z, {"y": Y}, ids=np.array(NAMES)), r"got ndarray of shape \(200,\)"),
        (lambda: snekhorn.show(Z, {"y": Y}, images=X), "images must be text, got ndarray"),
        (lambda: snekhorn.show(Z, {"y": Y}, background=(Y, "a")), "background must be text, got ndarray"),
        (lambda: snekhorn.show(Z, {"y": Y}, color=5), "color must be the name of a column, or one value per point"),
        (lambda: snekhorn.show(Z, {"y": Y}, color=Y[:5]), "color has 5 values for the 40 points of Z"),
    ],
    "a palette": [
        (
            lambda: plots.scatter(Z, Y, palette="virids"),
            "'virids' is not a Matplotlib colormap; did you mean 'virid",
        ),
        (lambda: plots.scatter(Z, Y, palette=["red", "blue"]), "palette has 2 colours for 3 categories"),
        (lambda: plots.scatter(Z, Y, palette=["red", "blue", "gren"]), r"palette\['2'\] is 'gren', which is not a col"),
        (lambda: plots.scatter(Z, Y, palette=5), "palette is 5, which has no colours"),
    ],
    "numbers of simulated data": [
        (lambda: datasets.make_three_gaussians(spreads=1.0), "spreads must have 3 numbers, one per cluster, got 1.0"),
        (lambda: datasets.make_three_gaussians(random_state="x"), "random_state must be a whole number .*; got 'x'"),
        (lambda: datasets.make_heteroscedastic_multinomial(8, 9, trials=5), "trials must have 2 numbers"),
        (lambda: datasets.make_heteroscedastic_multinomial(8, 9, trials=(1, 2, 3)), "trials must have 2 numbers"),
        (lambda: datasets.make_heteroscedastic_multinomial(8, 9, random_state=-1), "whole number of at least 0"),
    ],
}


@pytest.mark.parametrize(
    ("call", "message"), [pytest.param(*case, id=kind) for kind, cases in MISTAKES.items() for case in cases]
)
def test_the_error_is_a_short_sentence(call, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert len(str(caught.value)) < 500 or "cannot be read" in message
    assert not list(tmp_path.iterdir())


def test_values_in_messages_are_short():
    assert shown(0.5) == "0.5"
    assert shown(np.array([1.0, 2.0])) == "array([1., 2.])"
    assert shown(X) == "ndarray of shape (40, 5)"
    assert shown(NAMES) == "list of length 200"
    assert shown("a" * 200) == f"'{'a' * 99}..."
    assert shown(TSNEkhorn()) == "TSNEkhorn()"
