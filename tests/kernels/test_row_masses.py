import numpy as np
import pytest
from scipy.special import logsumexp

from snekhorn.kernels.row_masses import LOG_MASS_TOLERANCE, restore_rows

from ..helpers import cost_and_mask


def _log_masses(C, mask, lam, gam):
    L = (lam[:, None] + lam - 2.0 * C) / (gam[:, None] + gam)
    return logsumexp(np.where(mask, L, -np.inf), axis=1)


@pytest.fixture(params=["dense", "graph"])
def restored(request, rng):
    """A function that restores the mass of every row once, and one for the log masses."""
    cost, C, mask = cost_and_mask(request.param)
    gam = rng.uniform(0.3, 3.0, size=len(C))

    def restore(lam, slack):
        x = np.stack([lam, gam])
        worst = cost.in_order(restore_rows, x, slack)
        return x[0], worst, lambda lam: _log_masses(C, mask, lam, gam)

    return restore


@pytest.mark.parametrize("start", [-1000.0, -1.0, 20.0])
def test_every_row_in_turn_is_given_unit_mass(restored, start):
    lam = np.full(12, start)
    new, _, log_masses = restored(lam, 0.0)
    for i in range(12):
        met = np.concatenate([new[: i + 1], lam[i + 1 :]])  # what row i saw
        assert abs(log_masses(met)[i]) < LOG_MASS_TOLERANCE


def test_the_worst_mass_met_is_returned(restored):
    lam = np.full(12, -5.0)
    new, worst, log_masses = restored(lam, 0.0)
    met = [abs(log_masses(np.concatenate([new[:i], lam[i:]]))[i]) for i in range(12)]
    assert worst == pytest.approx(max(met), rel=1e-12)


def test_rows_within_the_slack_are_left_alone(restored, rng):
    lam = rng.normal(size=12)
    new, worst, _ = restored(lam, 1e3)
    np.testing.assert_array_equal(new, lam)
    assert worst > 0.0
