import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from snekhorn.embedding import descent as module
from snekhorn.embedding import mesh_size
from snekhorn.embedding.charge_grid import GridSums
from snekhorn.embedding.charge_sums import DirectSums
from snekhorn.embedding.descent import Stop, minimize
from snekhorn.embedding.normalizations import DoublyStochastic, TotalNormalized
from snekhorn.embedding.schedule import Phase, Schedule
from snekhorn.errors import NumericalOverflowError
from snekhorn.solvers.descent_steps import Adam, Momentum

from .descents import N, Script, cluster_objective, descend, short_schedule, small_start
from .layouts_and_sums import ONE_THREAD


class Recorder:
    """A callback that records its calls and asks to stop at an iteration."""

    def __init__(self, stop_at=None, *, answer=True):
        self.calls, self.stop_at, self.answer = [], stop_at, answer

    def __call__(self, iteration, loss, layout):
        self.calls.append((iteration, loss, layout))
        return self.answer if iteration == self.stop_at else None

    @property
    def iterations(self):
        return [iteration for iteration, _, _ in self.calls]


def test_makes_the_steps_of_both_phases():
    """The loop by hand: early exaggeration, a reset optimiser, the main descent, centred at every check."""
    objective, optimizer, Z = cluster_objective(), Momentum((N, 2), ONE_THREAD), small_start()
    for iteration in range(1, 81):
        exaggeration, *step = (4.0, 0.05, 0.5) if iteration <= 20 else (1.0, 0.2, 0.8)
        if iteration == 21:
            optimizer = Momentum((N, 2), ONE_THREAD)
        optimizer.step(Z, objective.gradient(Z, exaggeration), *step)
        if iteration % 10 == 0:
            Z -= Z.mean(axis=0)
    found, report = descend()
    np.testing.assert_array_equal(found, Z)
    assert report.losses[-1] == objective.loss(Z)


def test_report():
    _, report = descend()
    assert report.n_iter == 80
    assert report.iterations == list(range(10, 90, 10))
    assert report.losses[-1] < report.losses[0]
    assert report.reason == Stop.MAX_ITER.value
    assert not report.converged
    assert "80 iterations" in str(report)
    assert f"{report.losses[-1]:.4f}" in str(report)


@pytest.mark.parametrize("make", [TotalNormalized, DoublyStochastic])
@pytest.mark.parametrize(("early", "main"), [(0, 7), (3, 4), (20, 15)])
def test_the_last_loss_is_that_of_the_final_layout(make, early, main):
    plan = short_schedule(early=early, main=main)
    objective = cluster_objective(GridSums, make)
    Z, report = descend(objective, plan=plan)
    assert report.iterations == [*range(10, early + main + 1, 10), early + main]
    state = objective.state
    assert objective.loss(Z) == pytest.approx(report.losses[-1], rel=1e-12)
    unrecorded = cluster_objective(GridSums, make)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module._Descent, "record_end", lambda self: None)
        same, _ = descend(unrecorded, plan=plan)
    np.testing.assert_array_equal(same, Z)
    assert unrecorded.state[1] == state[1]  # the loss leaves no trace
    np.testing.assert_array_equal(unrecorded.state[0], state[0])


def test_the_last_loss_is_that_of_the_layout_after_a_return():
    """The steps after the first check are so long that the loss rises at the second, which is the last."""
    objective = cluster_objective(make=DoublyStochastic)
    schedule = Schedule(Phase(0, 1.0, 0.2), Phase(20, 1.0, 0.2), 1e-12, check_every=10)
    optimizer = Momentum((N, 2), ONE_THREAD)
    step = optimizer.step
    optimizer.step = lambda Z, gradient, *how: step(Z, 1e3 * gradient if len(seen) else gradient, *how)
    seen = []
    Z, report = descend(
        objective, plan=schedule, optimizer=optimizer, callbacks=[lambda *call: seen.append(call[2].copy()) and None]
    )
    np.testing.assert_array_equal(Z, seen[0])
    assert report.iterations == [10, 20, 20]
    assert report.losses[1] > report.losses[0]
    objective.solve_potential(Z, 1e-10)
    assert report.losses[-1] == pytest.approx(objective.loss(Z), rel=1e-3)


def test_an_interrupt_while_the_last_loss_is_computed_keeps_the_layout(monkeypatch):
    want, _ = descend(plan=short_schedule(main=5))

    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(module._Descent, "record_end", interrupt)
    found, report = descend(plan=short_schedule(main=5))
    np.testing.assert_array_equal(found, want)
    assert report.reason == Stop.INTERRUPTED.value


def test_losses_are_without_exaggeration():
    Z, report = descend(plan=short_schedule(early=10, main=0))
    assert report.losses == [cluster_objective().loss(Z)]


def test_the_given_layout_is_left_as_it_is():
    Z = small_start()
    found, _ = descend(Z=Z)
    np.testing.assert_array_equal(Z, small_start())
    assert not np.shares_memory(found, Z)


def test_float32_and_transposed_layouts_are_taken():
    Z = np.asfortranarray(small_start()).astype(np.float32)
    found, _ = descend(Z=Z)
    want, _ = descend(Z=Z.astype(float))
    np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("reorder_from", [10**9, 10])
def test_callbacks_are_told_iteration_loss_and_layout_in_the_given_order(reorder_from, monkeypatch):
    monkeypatch.setattr(module, "REORDER_FROM", reorder_from)
    recorder = Recorder()
    Z, report = descend(callbacks=[recorder])
    assert recorder.iterations == report.iterations
    assert [loss for _, loss, _ in recorder.calls] == report.losses
    objective = cluster_objective()
    for _, loss, layout in recorder.calls:
        assert objective.loss(layout) == pytest.approx(loss, rel=1e-12)
    np.testing.assert_array_equal(recorder.calls[-1][2], Z)
    assert not np.shares_memory(recorder.calls[-1][2], Z)


@pytest.mark.parametrize("make", [TotalNormalized, DoublyStochastic])
def test_points_in_another_order_give_the_same_layout(make, monkeypatch):
    want, _ = descend(cluster_objective(make=make))
    objective = cluster_objective(make=make)
    permuted = []
    permute = objective.permute
    monkeypatch.setattr(objective, "permute", lambda order: (permuted.append(order), permute(order)))
    monkeypatch.setattr(module, "REORDER_FROM", 10)
    found, report = descend(objective)
    assert not np.array_equal(permuted[0], np.arange(N))
    there, further, back = permuted
    np.testing.assert_array_equal(there[further][back], np.arange(N))
    np.testing.assert_allclose(found, want, rtol=1e-6, atol=1e-7)
    assert objective.loss(found) == pytest.approx(report.losses[-1], rel=1e-9)  # the objective is back in order too


@pytest.mark.parametrize("reorder_from", [10**9, 10])
@pytest.mark.parametrize("stop_at", [10, 50])
def test_a_callback_can_stop(reorder_from, stop_at, monkeypatch):
    monkeypatch.setattr(module, "REORDER_FROM", reorder_from)
    first, second = Recorder(stop_at), Recorder()
    Z, report = descend(callbacks=[first, second])
    assert report.n_iter == stop_at
    assert report.reason == Stop.CALLBACK.value
    assert not report.converged
    assert first.iterations == second.iterations  # both are called at the last check
    np.testing.assert_array_equal(first.calls[-1][2], Z)


@pytest.mark.parametrize("answer", [None, False, 0])
def test_other_answers_do_not_stop(answer):
    _, report = descend(callbacks=[Recorder(10, answer=answer)])
    assert report.n_iter == 80


@pytest.mark.parametrize("reorder_from", [10**9, 10])
@pytest.mark.parametrize("stop_at", [10, 50])
def test_an_interrupt_keeps_the_layout(reorder_from, stop_at, monkeypatch):
    monkeypatch.setattr(module, "REORDER_FROM", reorder_from)
    recorder = Recorder()

    def interrupt(iteration, loss, layout):
        if iteration == stop_at:
            raise KeyboardInterrupt

    Z, report = descend(callbacks=[recorder, interrupt])
    assert report.n_iter == stop_at
    assert report.reason == Stop.INTERRUPTED.value
    np.testing.assert_array_equal(recorder.calls[-1][2], Z)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("make", [TotalNormalized, DoublyStochastic])
@pytest.mark.parametrize("which", [1, 2, 3])
def test_an_interrupt_while_points_are_reordered_keeps_the_layout(make, which, monkeypatch):
    """At the first permutation (the start), the second (before the main phase) or the third (the way back)."""
    monkeypatch.setattr(module, "REORDER_FROM", 10)
    optimizer, calls = Momentum((N, 2), ONE_THREAD), []

    def permute(order):  # after the objective, before the layout
        calls.append(order)
        if len(calls) == which:
            signal.raise_signal(signal.SIGINT)
        Momentum.permute(optimizer, order)

    monkeypatch.setattr(optimizer, "permute", permute)
    objective, recorder = cluster_objective(make=make), Recorder()
    Z, report = descend(objective, optimizer=optimizer, callbacks=[recorder])
    assert report.reason == Stop.INTERRUPTED.value
    assert not report.converged
    assert len(calls) == (2 if which == 1 else 3)
    np.testing.assert_array_equal(Z, recorder.calls[-1][2] if which > 1 else small_start())
    assert objective.loss(Z) == pytest.approx(
        report.losses[-1] if which > 1 else cluster_objective(make=make).loss(Z), rel=1e-9
    )
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_points_are_reordered_on_other_threads_too(monkeypatch):
    monkeypatch.setattr(module, "REORDER_FROM", 10)
    want, _ = descend()
    with ThreadPoolExecutor(1) as pool:
        found, _ = pool.submit(descend).result()
    np.testing.assert_array_equal(found, want)


def test_an_error_of_a_callback_reaches_the_caller():
    def fail(iteration, loss, layout):
        raise LookupError(f"at {iteration}")

    with pytest.raises(LookupError, match="at 10"):
        descend(callbacks=[fail])


def test_stops_where_the_loss_no_longer_falls():
    _, report = descend(plan=short_schedule(main=5000, tol=1e-5))
    assert report.converged
    assert report.reason == Stop.CONVERGED.value
    assert 40 <= report.n_iter < 5000
    main = [loss for iteration, loss in zip(report.iterations, report.losses, strict=True) if iteration > 20]
    still = np.abs(np.diff(main)) < 1e-5 * 10 * np.array(main[1:])
    assert still[-2:].all()
    assert not (still[:-2] & still[1:-1]).any()  # and not a check too late


def test_does_not_stop_in_the_early_phase_nor_on_its_losses():
    _, report = descend(plan=short_schedule(early=50, tol=1e9))
    assert report.n_iter == 80  # the third check of the main phase: two differences


def test_steps_are_halved_and_start_anew_where_the_loss_rises():
    script = Script([3.0, 9.0, 5.0, 6.0, 4.0, 7.0, 4.0])
    _, report = descend(script, optimizer=script, plan=short_schedule(early=2, main=4, rate=0.4, check_every=1))
    assert script.steps == [(0.1, 0.5), (0.1, 0.5), (0.4, 0.8), (0.4, 0.8), (0.2, 0.8), (0.2, 0.8)]
    assert script.n_resets == 1 + 2 + 1  # after the early phase, at both rises, and for the loss of the last layout
    assert report.iterations == [1, 2, 3, 4, 5, 6, 6]
    assert report.losses[-2:] == [7.0, 4.0]
    assert report.reason == Stop.MAX_ITER.value


@pytest.mark.parametrize("change", [-9e-4, 9e-4])
def test_a_loss_that_hardly_changes_has_converged(change):
    script = Script([2.0, 1.0, 1.0 + change, 1.0 + 2 * change])
    _, report = descend(script, optimizer=script, plan=short_schedule(early=0, main=60, tol=1e-4))
    assert report.converged
    assert report.n_iter == 40


def test_a_loss_that_swings_past_its_last_value_has_not():
    script = Script([2.0, 1.0, 1.0, 0.9, 0.9, 0.8])
    _, report = descend(script, optimizer=script, plan=short_schedule(early=0, main=60, tol=1e-4))
    assert not report.converged


def test_momentum_rises():
    script = Script([3.0] * 10)
    schedule = short_schedule(early=1, main=5, rate=0.4, check_every=1, tol=0.0)
    schedule = replace(schedule, main=replace(schedule.main, rise=3))
    descend(script, optimizer=script, plan=schedule)
    np.testing.assert_allclose([momentum for _, momentum in script.steps], [0.5, 0.5, 0.6, 0.7, 0.8, 0.8])


def test_with_less_patience():
    script = Script([2.0, 1.0, 1.0])
    schedule = replace(short_schedule(early=0, main=60, tol=1e-4), patience=1)
    _, report = descend(script, optimizer=script, plan=schedule)
    assert report.n_iter == 30


@pytest.mark.parametrize("reorder_from", [1, 10**9])
def test_the_layout_can_be_replaced_between_the_phases(reorder_from, monkeypatch):
    monkeypatch.setattr(module, "REORDER_FROM", reorder_from)
    start, optimizer = small_start(), Momentum((N, 2), ONE_THREAD)
    Z, report = minimize(cluster_objective(), start, optimizer, short_schedule(), between=_with_first_point_moved)
    halfway, _ = descend(Z=start, plan=short_schedule(main=0))
    expected, _ = descend(Z=_with_first_point_moved(halfway), plan=short_schedule(early=0))
    np.testing.assert_allclose(Z, expected, atol=1e-6)
    assert report.n_iter == 80


def _with_first_point_moved(Z):
    return np.concatenate([Z[:1] + 2.0, Z[1:]])


def test_no_early_phase():
    _, report = descend(plan=short_schedule(early=0, main=30))
    assert report.n_iter == 30


@pytest.mark.parametrize("kind", [DirectSums, GridSums])
@pytest.mark.parametrize("rate", [1e200, 1e308])
@pytest.mark.parametrize("make", [TotalNormalized, DoublyStochastic])
@pytest.mark.filterwarnings("ignore:.*encountered:RuntimeWarning")  # on the way there
def test_a_rate_too_large_is_an_error_that_names_it(kind, make, rate, monkeypatch):
    monkeypatch.setattr(mesh_size, "MOST_NODES", 40_000)  # for speed
    with pytest.raises(NumericalOverflowError, match="overflowed"):
        descend(cluster_objective(kind, make), plan=short_schedule(rate=rate))


def test_a_layout_of_nan_is_an_error():
    Z = small_start()
    Z[3, 0] = np.nan
    with pytest.raises(NumericalOverflowError, match="overflowed"):
        descend(Z=Z)


def test_adam_descends_too():
    _, report = descend(optimizer=Adam((N, 2)), plan=short_schedule(early=0, main=200, rate=0.05))
    assert report.losses[-1] < 0.8 * report.losses[0]


def test_progress_is_shown_on_request(capfd):
    arguments = (cluster_objective(), small_start(), Momentum((N, 2), ONE_THREAD), short_schedule())
    minimize(*arguments)
    assert capfd.readouterr() == ("", "")
    minimize(*arguments, verbose=True)
    assert "80/80" in capfd.readouterr().err


def _by_hand(n_iter, rate):
    """Run Adam without a safeguard, centred at every step."""
    objective, optimizer, Z = cluster_objective(), Adam((N, 2)), small_start()
    losses = []
    for _ in range(n_iter):
        optimizer.step(Z, objective.gradient(Z), rate, 0.0)
        Z -= Z.mean(axis=0)
        losses.append(objective.loss(Z))
    return Z, losses


def test_a_careless_schedule_lets_the_loss_rise():
    Z, losses = _by_hand(40, 3.0)
    assert np.max(np.diff(losses)) > 1e-3  # otherwise the case would test nothing
    schedule = Schedule(Phase(0, 1.0, 3.0), Phase(40, 1.0, 3.0), 1e-12, check_every=1, careful=False)
    found, report = descend(plan=schedule, optimizer=Adam((N, 2)))
    np.testing.assert_array_equal(found, Z)
    assert report.losses == losses


def test_a_careful_one_goes_back_from_a_rise():
    schedule = Schedule(Phase(0, 1.0, 3.0), Phase(40, 1.0, 3.0), 1e-12, check_every=1)
    found, report = descend(plan=schedule, optimizer=Adam((N, 2)))
    assert cluster_objective().loss(found) < _by_hand(40, 3.0)[1][-1]
    best = np.minimum.accumulate(report.losses)
    assert np.all(np.diff(report.losses)[1:][np.diff(report.losses)[:-1] > 1e-9] < 0.0)  # after a rise, lower again
    assert best[-1] < best[0]
