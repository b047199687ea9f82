"""Register every affinity and method under its name on the command line and in saved models.

The command line, saved models, the reference pages and the common tests read these tables. To add an affinity, add one
file to `affinities` and one line here. Importing this module loads no other module of the package.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Entry:
    """Class of the package, with the parameters that its name implies.

    Parameters
    ----------
    module : str
        Module of the class, relative to the package.
    class_name : str
        Public name of the class.
    parameters : mapping
        Parameters that the name sets.
    """

    module: str
    class_name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def load(self) -> Any:
        """Import the class."""
        return getattr(import_module(f".{self.module}", __package__), self.class_name)


AFFINITIES: dict[str, Entry] = {
    "symmetric-entropic": Entry("affinities.symmetric_entropic", "SymmetricEntropicAffinity"),
    "multiscale": Entry("affinities.multiscale", "MultiscaleSymmetricEntropicAffinity"),
    "entropic": Entry("affinities.entropic", "EntropicAffinity"),
    "symmetrized-entropic": Entry("affinities.entropic", "EntropicAffinity", {"symmetrize": True}),
    "doubly-stochastic": Entry("affinities.doubly_stochastic", "DoublyStochasticAffinity"),
    "gaussian": Entry("affinities.gaussian", "GaussianAffinity"),
    "self-tuning": Entry("affinities.self_tuning", "SelfTuningAffinity"),
}

METHODS: dict[str, Entry] = {
    "tsnekhorn": Entry("estimators.methods", "TSNEkhorn"),
    "snekhorn": Entry("estimators.methods", "SNEkhorn"),
    "tsne": Entry("estimators.methods", "TSNE"),
    "symmetric-sne": Entry("estimators.methods", "SymmetricSNE"),
    "sne": Entry("estimators.methods", "SNE"),
}


def classes(entries: Iterable[Entry]) -> dict[str, Entry]:
    """Return each class once, by its public name."""
    found: dict[str, Entry] = {}
    for entry in entries:
        found.setdefault(entry.class_name, entry)
    return found
