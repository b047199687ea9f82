import numpy as np

from snekhorn.runtime.settings import offering
from snekhorn.solvers.solve_report import Reason, SolveReport, advice, explained


def test_reads_as_a_sentence_with_reason_and_gaps():
    report = SolveReport(
        converged=False, n_iter=3, n_passes=17, marginal_gap=0.25, entropy_gap=0.5, reason=Reason.MAX_ITER.value
    )
    for part in ("maximum number of iterations", "3 iterations", "17 passes", "2.5e-01", "5.0e-01"):
        assert part in str(report)


def test_a_failure_names_the_parameters_to_change():
    parameters = {"tol": 1e-8, "max_iter": 200, "perplexity": 30.0, "n_neighbors": 90, "self_loops": False}
    assert explained(Reason.MAX_ITER.value, parameters).endswith("the tolerance; raise max_iter or raise tol")
    stalled = explained(Reason.STALLED.value, parameters)
    assert stalled.endswith("; raise n_neighbors, lower perplexity, raise tol or allow self_loops")


def test_no_advice_names_a_parameter_that_is_absent_or_cannot_help():
    parameters = {"tol": 1e-8, "perplexities": [5.0, 20.0], "n_neighbors": None, "self_loops": True, "solver": "newton"}
    for reason in Reason:
        text = advice(reason.value, parameters)
        assert not any(word in text for word in ("self_loops", "n_neighbors", "max_iter", "learning_rate", "newton"))
    assert advice(Reason.STALLED.value, parameters) == "lower perplexities or raise tol"
    assert advice(Reason.CONVERGED.value, parameters) == ""


def test_advice_names_only_what_is_offered():
    parameters = {"tol": 1e-8, "max_iter": 200, "perplexity": 30.0, "n_neighbors": 90, "self_loops": False}
    stalled, limited = Reason.STALLED.value, Reason.MAX_ITER.value
    with offering({"perplexity", "n_neighbors", "self_loops", "affinity"}):
        assert advice(stalled, parameters) == (
            "raise n_neighbors, lower perplexity, pass an affinity with a larger tol or allow self_loops"
        )
        assert advice(limited, parameters) == "pass an affinity with a larger tol"
        assert advice(stalled, {"perplexity": 30.0}) == "lower perplexity"  # this affinity has no tolerance
        with offering(None):
            assert advice(limited, parameters) == "pass an affinity with a larger tol"
        with offering({"perplexity", "self_loops", "tol"}):
            assert advice(stalled, parameters) == "lower perplexity or allow self_loops"
            assert explained(limited, parameters) == limited
    assert advice(limited, parameters) == "raise max_iter or raise tol"


def test_useless_values_are_compared_by_value():
    parameters = {"perplexities": np.array([5.0, 20.0]), "self_loops": np.True_, "tol": 1e-8}
    assert advice(Reason.STALLED.value, parameters) == "lower perplexities or raise tol"
    assert advice(Reason.STALLED.value, {"perplexities": np.str_("auto"), "tol": 1e-8}) == "raise tol"


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
