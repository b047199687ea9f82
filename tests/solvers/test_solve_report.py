import numpy as np
import pytest

from snekhorn.solvers.solve_report import Reason, SolveReport


def test_reads_as_a_sentence_with_reason_and_gaps():
    report = SolveReport(
        converged=False, n_iter=3, n_passes=17, marginal_gap=0.25, entropy_gap=0.5, reason=Reason.MAX_ITER.value
    )
    for part in ("max_iter", "3 iterations", "17 passes", "2.5e-01", "5.0e-01"):
        assert part in str(report)


@pytest.mark.parametrize("reason", [Reason.ROUNDING, Reason.MAX_ITER, Reason.STALLED, Reason.DIVERGED])
def test_every_failure_names_a_parameter_to_change(reason):
    assert any(name in reason.value for name in ("tol", "max_iter", "n_neighbors", "learning_rate"))


def test_reports_do_not_share_their_lists():
    first, second = (SolveReport(True, 1, 1, 0.0, 0.0, "converged") for _ in range(2))  # noqa: FBT003
    first.dual_values.append(1.0)
    assert second.dual_values == []


def test_rows_are_renumbered():
    rows = np.array([0, 2])
    report = SolveReport(True, 1, 1, 0.0, 0.0, "converged", floor_rows=rows, unreachable_rows=rows[1:])  # noqa: FBT003
    renumbered = report.renumbered(np.array([7, 5, 3]))
    np.testing.assert_array_equal(renumbered.floor_rows, [3, 7])
    np.testing.assert_array_equal(renumbered.unreachable_rows, [3])
    assert renumbered.unsolved_rows.size == 0
    np.testing.assert_array_equal(report.floor_rows, [0, 2])
