"""Colours that stay apart, for readers with and without colour vision deficiency."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

MISSING = "#b8b8b8"

# Okabe and Ito (2008), black last because it disappears on a dark background.
OKABE_ITO = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#f0e442", "#000000")
N_DISTINCT = 40

_STEPS = 18  # candidates an axis of the colour cube
_LIGHTNESS = (0.44, 0.88)  # visible on white and on near-black
_CHROMA = 0.24  # neon shouts down its neighbours
_BACKGROUNDS = ("#ffffff", "#15171a", MISSING)
_BLIND_WEIGHT = 1.6  # distances shrink where one of three axes is gone: what counts as far shrinks with them

Colors = NDArray[np.float64]

# Machado, Oliveira and Fernandes (2009), deuteranopia, on linear RGB.
_DEUTERANOPIA = np.array(
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
)
# Ottosson (2020), OKLab: linear RGB to cone responses, and their cube roots to lightness and two opponent axes.
_TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)


def categorical(n: int) -> list[str]:
    """n colours as hex: Okabe and Ito's up to 8, a longer sequence up to 40, which repeats beyond."""
    if n <= len(OKABE_ITO):
        return list(OKABE_ITO[: max(n, 0)])
    return [_sequence()[i % N_DISTINCT] for i in range(n)]


def continuous(n: int = 256) -> list[str]:
    """n steps of viridis as hex."""
    from matplotlib import colormaps

    return [_hex(color[:3]) for color in colormaps["viridis"](np.linspace(0.0, 1.0, n))]


def separation(colors: list[str]) -> tuple[float, float]:
    """Smallest distance in OKLab between two of the colours, seen normally and with deuteranopia."""
    rgb = np.array([_rgb(color) for color in colors])
    apart = ~np.eye(len(colors), dtype=bool)
    normal, blind = (_distances(lab, lab)[apart].min() for lab in _both_views(rgb))
    return float(normal), float(blind)


@lru_cache(maxsize=1)
def _sequence() -> tuple[str, ...]:
    """Okabe and Ito's colours but black, and then, one by one, the candidate that is furthest from all before."""
    chosen = [_rgb(color) for color in OKABE_ITO[:-1]]
    candidates = _candidates()
    views = _both_views(candidates)
    weights = (1.0, _BLIND_WEIGHT)

    def nearness(rgb: Colors) -> Colors:
        seen = [w * _distances(a, b) for w, a, b in zip(weights, views, _both_views(rgb), strict=True)]
        return np.minimum(*seen).min(axis=1)

    nearest = nearness(np.array([*chosen, *(_rgb(color) for color in _BACKGROUNDS)]))
    while len(chosen) < N_DISTINCT:
        best = candidates[int(nearest.argmax())]
        chosen.append(best)
        nearest = np.minimum(nearest, nearness(best[None]))
    return tuple(_hex(color) for color in chosen)


def _candidates() -> Colors:
    axis = np.linspace(0.0, 1.0, _STEPS)
    rgb = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    lightness, *opponents = _lab(_linear(rgb)).T
    return rgb[(lightness > _LIGHTNESS[0]) & (lightness < _LIGHTNESS[1]) & (np.hypot(*opponents) < _CHROMA)]


def _both_views(rgb: Colors) -> tuple[Colors, Colors]:
    linear = _linear(rgb)
    return _lab(linear), _lab(np.clip(linear @ _DEUTERANOPIA.T, 0.0, 1.0))


def _lab(linear: Colors) -> Colors:
    return np.cbrt(linear @ _TO_CONES.T) @ _TO_LAB.T


def _linear(rgb: Colors) -> Colors:
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def _distances(a: Colors, b: Colors) -> Colors:
    return np.linalg.norm(a[:, None] - b[None], axis=-1)


def _rgb(color: str) -> Colors:
    return np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0


def _hex(rgb: Colors) -> str:
    return "#" + "".join(f"{round(255 * float(value)):02x}" for value in rgb)
