"""Measure how layouts bear noise of unequal strength, which is the paper's argument for symmetric entropic affinities.

In every simulation, half of the points of some classes, a batch, are measured with less noise than the others. A good
layout separates the classes and mixes the batches. The strength of the noise grows from equal to very unequal. The
whole benchmark takes about ten minutes on two cores (`--jobs 2`): three samples at each of six strengths.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from harness.experiment import SEPARATOR, Case, Cases, Plan, Settings
from harness.results_page import part_tables, table
from snekhorn import datasets
from snekhorn.datasets import make_heteroscedastic_multinomial
from snekhorn.metrics import knn_accuracy, silhouette

from .field_methods import ONE_THREAD, lay_out, still_valid, version
from .measure import Array, benchmark
from .rankings import Score, summarize

RATIOS = (1.0, 1.25, 1.5, 2.0, 3.0, 5.0)  # draws of the batch with less noise, relative to the other
LEVELS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0)  # standard deviations of the noise, relative to those of the features
N_POINTS, QUICK_POINTS, N_FEATURES = 1_000, 200, 2_000
DEPTH = 100  # draws per image: enough to tell most digits apart, few enough that noise matters
TRIALS = 500  # draws per point of the two distributions
REPEATS = 3
SYMMETRIC, PLAIN = "t-SNEkhorn, balance 1", "t-SNEkhorn, balance 0"
METHODS = ("t-SNEkhorn", SYMMETRIC, PLAIN, "openTSNE", "umap-learn", "PaCMAP", "TriMap", "PHATE")
EFFECTS = {  # whether one of the scores is better, and whether one is worse
    (True, False): "is better",
    (False, True): "is worse",
    (True, True): "is better in one of the two scores and worse in the other",
    (False, False): "makes no difference",
}
Sample = tuple[Array, Array, Array]  # X, classes, batches
Summary = dict[tuple[str, str], Score]  # strength, method -> score


def two_distributions(ratio: float, n: int, seed: int) -> Sample:
    """Draw counts from two distributions, one of which has two batches of different depth, as in the paper."""
    trials = (TRIALS, round(ratio * TRIALS))
    return make_heteroscedastic_multinomial(n, N_FEATURES, trials=trials, random_state=seed)


def digit_counts(ratio: float, n: int, seed: int) -> Sample:
    """Draw counts from images of digits, as sequencing draws from a cell; half of the images have more draws."""
    X, y, batch, rng = _digits(n, seed)
    depths = np.where(batch == 1, round(ratio * DEPTH), DEPTH)
    shares = X / X.sum(axis=1, keepdims=True)
    counts = np.array([rng.multinomial(depth, share) for depth, share in zip(depths, shares, strict=True)])
    return np.sqrt(counts / depths[:, None]), y, batch  # square roots, so that the noise does not depend on the mean


def noisy_digits(level: float, n: int, seed: int) -> Sample:
    """Add Gaussian noise to half of the images of digits; the other half stays as it is."""
    X, y, batch, rng = _digits(n, seed)
    scale = level * np.sqrt(X.var(axis=0).mean())
    return X + np.where(batch == 1, 0.0, scale)[:, None] * rng.normal(size=X.shape), y, batch


def _digits(n: int, seed: int) -> tuple[Array, Array, Array, np.random.Generator]:
    """Return random images of digits and random batches."""
    rng, found = np.random.default_rng(seed), datasets.load("digits")
    chosen = rng.permutation(len(found.X))[:n]
    return found.X[chosen].astype(float), found.y[chosen], rng.integers(0, 2, size=len(chosen)), rng


SIMULATIONS = {
    "two distributions": (two_distributions, RATIOS, "draws of the deeper batch, relative to the other"),
    "digits as counts": (digit_counts, RATIOS, "draws of the deeper batch, relative to the other"),
    "digits with Gaussian noise": (noisy_digits, LEVELS, "noise of the noisier batch, relative to the features"),
}


def plan(settings: Settings) -> Plan:
    cases: Plan = {}
    for kind, (_, strengths, _) in SIMULATIONS.items():
        for strength in strengths[2:3] if settings.quick else strengths:
            for method in METHODS:
                for repeat in range(1 if settings.quick else REPEATS):
                    key = SEPARATOR.join((kind, f"{strength:g}", method, str(repeat)))
                    cases[key] = partial(solve, kind, strength, method, repeat, settings)
    return cases


def solve(kind: str, strength: float, method: str, repeat: int, settings: Settings) -> dict[str, Any]:
    """Measure how well a layout separates the classes, and how well it mixes the batches within each class."""
    X, y, batch = SIMULATIONS[kind][0](strength, QUICK_POINTS if settings.quick else N_POINTS, repeat)
    Z = lay_out(method, X, repeat, ONE_THREAD)
    mixed = [silhouette(Z[y == c], batch[y == c]) for c in np.unique(y) if len(np.unique(batch[y == c])) > 1]
    return {
        "part": kind,
        "data": f"{strength:g}",  # one table per simulation, with strengths in place of data sets
        "method": method,
        "version": version(method),
        "repeat": repeat,
        "classes": silhouette(Z, y),
        "accuracy": knn_accuracy(Z, y),
        "batches": float(np.mean(mixed)),
    }


def report(cases: Cases) -> str:
    about = (
        "Half of the points of some classes, a batch, are measured with less noise than the others. The entries are "
        "the silhouette of the classes, which should be high, and after the slash the mean silhouette of the batches "
        "within a class, for which 0 is right; both are means over random samples. *Balance 0* is the affinity of "
        "t-SNE in an otherwise unchanged t-SNEkhorn, *balance 1* the symmetric entropic affinity."
    )
    return part_tables(cases, {kind: partial(_kind_text, kind) for kind in SIMULATIONS}, about)


def _kind_text(kind: str, cases: list[Case]) -> str:
    classes, batches, accuracy = (summarize(cases, score) for score in ("classes", "batches", "accuracy"))
    methods = [method for method in METHODS if any(case["method"] == method for case in cases)]
    strengths = list(dict.fromkeys(case["data"] for case in cases))
    rows = []
    for strength in strengths:
        shown = [_entry(classes.get((strength, m)), batches.get((strength, m))) for m in methods]
        rows.append([strength, *shown])
    best = [[s, *(f"{accuracy[s, m].mean:.3f}" if (s, m) in accuracy else None for m in methods)] for s in strengths]
    what = SIMULATIONS[kind][2]
    return "\n\n".join(
        [
            table([what, *methods], rows, f"**{kind[0].upper()}{kind[1:]}**: classes / batches."),
            table([what, *methods], best, "The accuracy of a vote among 15 neighbours, for the classes:"),
            verdict(classes, batches),
        ]
    )


def _entry(classes: Score | None, batches: Score | None) -> str | None:
    return None if classes is None or batches is None else f"{classes.mean:.2f} / {batches.mean:.2f}"


def verdict(classes: Summary, batches: Summary) -> str:
    """Say at which strengths the symmetric entropic affinity separates classes or mixes batches better or worse."""
    found: dict[str, list[str]] = {}
    for strength in dict.fromkeys(strength for strength, _ in classes):
        keys = ((strength, SYMMETRIC), (strength, PLAIN))
        if all(key in scores for key in keys for scores in (classes, batches)):
            signs = (_sign(*(classes[key] for key in keys)), -_sign(*(batches[key] for key in keys), size=True))
            found.setdefault(EFFECTS[max(signs) > 0, min(signs) < 0], []).append(strength)
    parts = [f"{effect} at {', '.join(found[effect])}" for effect in EFFECTS.values() if effect in found]
    start = "Beyond the spread, and compared with the affinity of t-SNE, the symmetric entropic affinity"
    return f"{start} {'; it '.join(parts)}." if parts else ""


def _sign(one: Score, other: Score, *, size: bool = False) -> int:
    """Return the sign of the difference, of absolute values if `size`, or 0 within the spread."""
    gap = abs(one.mean) - abs(other.mean) if size else one.mean - other.mean
    return int(np.sign(gap)) if one.differs(other) else 0


EXPERIMENT = benchmark("noise", "Unequal noise", plan, report, timed=False, reusable=still_valid)
