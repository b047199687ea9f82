"""Store the state of a long fit in a folder, and resume from it.

The folder has a file for each stage that has been reached: "neighbors.npz", "affinity.npz", which replaces it, and
"layout.npz", the state of the descent. Each file is a NumPy archive with a JSON header, like a saved model: it is read
according to the declarations below and nothing else. Files are replaced as a whole, so whenever the process ends, the
folder holds a complete state.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from ..affinities.affinity import Affinity
from ..embedding.charge_grid import GridState
from ..embedding.descent_state import DescentState
from ..embedding.mesh import MeshState
from ..errors import InputError
from ..geometry.column_statistics import ROWS_PER_BLOCK
from ..geometry.costs import NeighborGraph
from ..geometry.distance_metrics import whitened
from ..geometry.neighbor_search import graph_of_lists
from ..io.npz_archive import MODEL_HEADER, NpzArchive, open_bounded, write_npz
from ..io.safe_output import TEMPORARY, replacing
from ..runtime.execution import Execution
from ..runtime.interrupts import delayed_interrupts
from ..runtime.progress import note
from ..runtime.settings import settings_of_result
from ..runtime.user_warnings import warn
from ..solvers.solve_report import SolveReport
from .earlier_layout import EarlierLayout
from .model_contents import COUNT, SOLVE_REPORT
from .model_parts import Array, Arrays, Flag, Matrix, Number, Numbers, OrNone, Part, PartError, Record
from .saved_models import MAX_HEADER

FORMAT = 2
SECONDS = 60.0  # between two states of the descent; a larger value loses more work, a smaller one takes more time
SHARE = 0.05  # largest share of the time that writing states takes; a state of many points takes seconds
STAGES = {"neighbors": "neighbours", "affinity": "affinity", "layout": "layout"}  # in order, and their names in text
UNFINISHED = f"{TEMPORARY}checkpoint-"  # start of the names of files that are not complete yet
ABANDONED = 3600.0  # seconds without a change after which such a file is removed; writing one changes it all the time


def build_mesh_state(low: list[float], high: list[float], **parts: Any) -> MeshState:
    if len(low) != len(high) or any(a > b for a, b in zip(low, high, strict=True)):
        raise PartError(f"a mesh cannot have the corners {low} and {high}")
    return MeshState(tuple(low), tuple(high), **parts)


def build_descent_state(**parts: Any) -> DescentState:
    state = DescentState(**parts)
    n, d = state.Z.shape
    if np.bincount(state.order, minlength=n).max() > 1:
        raise PartError("'order' is not a permutation of the points")
    mesh = None if state.grid is None else state.grid.mesh
    if mesh is not None and len(mesh.low) != d:
        raise PartError(f"the mesh has {len(mesh.low)} dimensions, but the layout has {d}")
    if mesh is not None and mesh.n_points > n:
        raise PartError(f"the mesh is for {mesh.n_points} points, but the layout has {n}")
    return state


NEIGHBORS: dict[str, Part] = {
    "indices": Array("i", ("n", "k"), low=0, high="n"),
    "costs": Array("f", ("n", "k")),
    "recall": Number(low=0, high=1),
}

AFFINITY: dict[str, Part] = {
    "matrix": Matrix(("n", "n"), low=0),
    "report": Record(SOLVE_REPORT, SolveReport),
    "perplexity": OrNone(Number(low=1)),
}

MESH: dict[str, Part] = {
    "low": Numbers(Number()),
    "high": Numbers(Number()),
    "radius": Number(low=0),
    "n_points": COUNT,
    "n_pairs": Number(low=0),
    "crowded": Flag(),
}

GRID: dict[str, Part] = {
    "mesh": OrNone(Record(MESH, build_mesh_state)),
    "n_far": COUNT,
    "rough": Flag(),
}

POSITIONS = Array("f", ("n", "d"))
OPTIMIZERS: dict[str, dict[str, Part]] = {
    "momentum": {"velocity": POSITIONS, "gains": POSITIONS},
    "adam": {"mean": POSITIONS, "square": POSITIONS, "n_steps": COUNT},
}

DESCENT: dict[str, Part] = {
    "Z": POSITIONS,
    "order": Array("i", ("n",), low=0, high="n"),
    "damping": Number(low=0, high=1),
    "accepted_loss": Number(finite=False),
    "accepted": POSITIONS,
    "n_still": COUNT,
    "n_iter": COUNT,
    "iterations": Numbers(COUNT),
    "losses": Numbers(Number()),
    "charges": OrNone(Array("f", ("n",), low=0)),
    "grid": OrNone(Record(GRID, GridState)),
}


class Checkpoint:
    """Folder with the state of one fit.

    Parameters
    ----------
    folder : Path
        The folder.
    run : dict
        What identifies the fit: data, method and parameters.
    sizes : dict of str to int
        Number of points n and dimension d of the layout.
    optimizer : {"momentum", "adam"}
        Optimiser of the descent.
    """

    stores = True

    def __init__(self, folder: Path, run: dict[str, Any], sizes: dict[str, int], optimizer: str) -> None:
        self.folder, self._run, self._sizes = folder, json.loads(json.dumps(run)), sizes
        steps = Record(OPTIMIZERS[optimizer], take_apart=dict)
        self._contents = {
            "neighbors": Record(NEIGHBORS, take_apart=dict),
            "affinity": Record(AFFINITY, take_apart=dict),
            "layout": Record({**DESCENT, "optimizer": steps}, build_descent_state),
        }
        self._written_at, self._took = time.monotonic(), 0.0
        self._kept: DescentState | None = None  # state of the last check, until it is stored

    @classmethod
    def open(
        cls, model: Any, points: Callable[[], str], n: int, earlier: EarlierLayout | None = None
    ) -> Checkpoint | NoCheckpoint:
        """Open the folder of a model, or create it; raise if it holds a checkpoint of another fit.

        `points` returns the fingerprint of the n points. Return a stand-in if the model has no checkpoint.
        """
        if model.checkpoint is None:
            return NoCheckpoint()
        folder = Path(model.checkpoint)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _remove_unfinished(folder)
        except OSError as error:
            raise InputError(
                f"the checkpoint {folder} is not usable ({error.strerror}); name another folder."
            ) from error
        run = {"estimator": type(model).__name__, "points": points(), **_described(model), "align": None}
        if earlier is not None:
            run["align"] = f"{fingerprint((earlier.positions, earlier.known))}, pull={earlier.pull!r}"
        checkpoint = cls(folder, run, {"n": n, "d": model.n_components}, model.optimizer)
        stages = stages_in(folder)
        for stage in stages:
            checkpoint.load(stage, check_only=True)
        if stages:
            note(f"resuming from the {STAGES[stages[-1]]} in {folder}")
        return checkpoint

    def load(self, stage: str, *, check_only: bool = False) -> Any:
        """Return what is stored of a stage, or None; raise if it is damaged or belongs to another fit."""
        path = self._path(stage)
        if not path.exists():
            return None
        try:
            with open_bounded(path) as file:
                archive = NpzArchive(file, compressed=False)
                header = json.loads(archive.read_bytes(MODEL_HEADER, MAX_HEADER))
                if header["format"] != FORMAT:
                    raise PartError(f"it has format {header['format']!r:.20}, but this version reads only {FORMAT}")
                self._check_same_run(header["run"])
                if check_only:
                    return None
                arrays = Arrays(archive.read_array, dict(self._sizes))
                return self._contents[stage].unpack(header["state"], "", arrays)
        except InputError:
            raise
        except Exception as error:  # what a damaged file makes a library raise cannot be listed
            reason = " ".join(str(error).split()).rstrip(".")[:200]
            raise InputError(
                f"{path} is not a checkpoint of snekhorn, or is damaged ({type(error).__name__}: {reason}); delete "
                "this file to resume without it, or name another folder."
            ) from error

    def store(self, stage: str, value: Any) -> None:
        """Replace what is stored of a stage; if this fails, warn, because the fit itself can continue."""
        arrays: dict[str, Any] = {}
        state = self._contents[stage].pack(value, "", arrays)
        header = json.dumps({"format": FORMAT, "run": self._run, "state": state})
        try:
            with replacing(self._path(stage), UNFINISHED) as file:
                write_npz(file, {MODEL_HEADER: header}, arrays)
                with open(file, "rb+") as written:
                    os.fsync(written.fileno())  # before it replaces the last state, which may be needed otherwise
        except InputError as error:
            warn(f"could not write the checkpoint; the fit continues without it: {error}")

    def keep(self, state: DescentState) -> None:
        """Store the state of the descent if the last one is old enough; otherwise copy it, for `store_kept`."""
        start = time.monotonic()
        if start - self._written_at < max(SECONDS, self._took / SHARE):
            self._kept = deepcopy(state)  # the descent changes its arrays in place
            return
        self._kept = state  # for an interrupt while it is written
        self.store("layout", state)
        self._kept = None
        self._written_at = time.monotonic()
        self._took = self._written_at - start

    def store_kept(self) -> None:
        """Store the state of the last check after an interrupt; further interrupts do not stop this."""
        if self._kept is not None:
            with suppress(KeyboardInterrupt), delayed_interrupts():
                self.store("layout", self._kept)
            self._kept = None

    def fit_affinity(self, affinity: Affinity, X: Any, execution: Execution) -> Any:
        """Compute the affinity of X, store it, and return it; start from what is stored."""
        found = self.load("affinity")
        if found is not None:
            return restore_affinity(affinity, found)
        if affinity.n_neighbors is None or affinity.metric == "precomputed" or isinstance(X, tuple):
            affinity.fit(X)
        else:
            affinity.fit_costs(_neighbors(affinity, X, self, execution))
        store_affinity(affinity, affinity.affinity_, self)
        return affinity.affinity_

    def remove(self, stage: str) -> None:
        """Remove what is stored of a stage that is no longer needed."""
        self._path(stage).unlink(missing_ok=True)

    def _path(self, stage: str) -> Path:
        return self.folder / f"{stage}.npz"

    def _check_same_run(self, stored: Any) -> None:
        for name, here in self._run.items():
            there = stored.get(name)
            if there == here:
                continue
            found, same = f"another fit, with {name}={there!r:.80}, not {here!r:.80}", "data and parameters"
            if name == "points":
                found, same = "other points", "data"
            raise InputError(
                f"{self.folder} has a checkpoint of {found}; pass the same {same} to resume it, or another folder to "
                "start a new one."
            )


class NoCheckpoint:
    """Stand-in for a fit that stores nothing."""

    stores = False

    def load(self, stage: str) -> None:
        """Return None, because nothing is stored."""

    def store(self, stage: str, value: Any) -> None:
        """Forget the value."""

    def remove(self, stage: str) -> None:
        """Remove nothing, because nothing is stored."""

    def keep(self, state: DescentState) -> None:
        """Forget the state."""

    def store_kept(self) -> None:
        """Store nothing, because nothing is kept."""

    def fit_affinity(self, affinity: Affinity, X: Any, execution: Execution) -> Any:
        """Compute the affinity of X."""
        return affinity.fit_transform(X)


def _remove_unfinished(folder: Path) -> None:
    """Remove the files that processes could not complete because they were killed, but none that is being written."""
    for file in folder.glob(f"{UNFINISHED}*"):
        with suppress(FileNotFoundError):  # completed or removed by its own process
            if time.time() - file.stat().st_mtime > ABANDONED:
                file.unlink()


def stages_in(folder: Path) -> list[str]:
    """Return the stages that are stored in a folder, in the order in which they are reached."""
    return [stage for stage in STAGES if (folder / f"{stage}.npz").exists()]


def store_affinity(affinity: Affinity, P: Any, checkpoint: Checkpoint | NoCheckpoint) -> None:
    """Store the matrix P of a fitted affinity in place of the neighbours."""
    perplexity = getattr(affinity, "perplexity_", None)
    checkpoint.store("affinity", {"matrix": P, "report": affinity.report_, "perplexity": perplexity})
    checkpoint.remove("neighbors")


def restore_affinity(affinity: Affinity, found: dict[str, Any]) -> Any:
    """Restore the report of an affinity from what was stored, and return the matrix."""
    affinity.report_ = found["report"]
    if found["perplexity"] is not None:
        affinity.perplexity_ = found["perplexity"]
    return found["matrix"]


def _neighbors(affinity: Affinity, X: Any, checkpoint: Checkpoint, execution: Execution) -> NeighborGraph:
    """Search for the neighbours and store them, or return the stored ones."""
    if (found := checkpoint.load("neighbors")) is not None:
        points, metric = whitened(X, affinity.metric, execution)
        return graph_of_lists(found["indices"], found["costs"], found["recall"], points, metric, execution)
    graph: Any = affinity.costs_of(X, execution)
    shape = (graph.n_points, -1)
    lists = {"indices": graph.indices.reshape(shape), "costs": graph.costs.reshape(shape), "recall": graph.recall}
    checkpoint.store("neighbors", lists)
    found_graph: NeighborGraph = graph
    return found_graph


def fingerprint(X: Any) -> str:
    """Return a hash of any input that `fit` accepts."""
    parts = (X.data, X.indices, X.indptr) if sparse.issparse(X) else X if isinstance(X, tuple) else (X,)
    arrays = [np.asarray(part) for part in parts]
    return joined_hashes([(array.shape, array.dtype, block_hashes(array)) for array in arrays])


def block_hashes(array: NDArray[Any]) -> list[bytes]:
    """Return the hashes of blocks of rows, so that the rows may be in several places."""
    starts = range(0, len(array), ROWS_PER_BLOCK) if array.ndim else [0]
    blocks = (np.ascontiguousarray(np.atleast_1d(array)[start : start + ROWS_PER_BLOCK]) for start in starts)
    return [hashlib.blake2b(block.view(np.uint8).data, digest_size=16).digest() for block in blocks]


def joined_hashes(arrays: Sequence[tuple[tuple[int, ...], Any, list[bytes]]]) -> str:
    """Return the hash of arrays with these shapes, types and hashes of blocks."""
    digest = hashlib.blake2b(digest_size=16)
    for shape, dtype, hashes in arrays:
        digest.update(f"{np.dtype(dtype).str}{shape}".encode())
        digest.update(b"".join(hashes))
    return digest.hexdigest()


def _described(model: BaseEstimator) -> dict[str, Any]:
    """Return the parameters that determine the result, in JSON."""
    return {name: _plain(value) for name, value in sorted(settings_of_result(model).items())}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseEstimator):
        return {"class": type(value).__name__, **_described(value)}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return f"array {fingerprint(value)}"
    return f"{type(value).__name__} object"
