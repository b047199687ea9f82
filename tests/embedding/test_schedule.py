import pytest

from snekhorn.embedding.charge_sums import Kernel
from snekhorn.embedding.latent import Latent
from snekhorn.embedding.schedule import make_optimizer, make_schedule
from snekhorn.runtime.execution import Threads
from snekhorn.solvers.descent_steps import Adam, Momentum

STUDENT, GAUSSIAN = Latent(Kernel.STUDENT, "both"), Latent(Kernel.GAUSSIAN, "both")
DEFAULTS = {
    "optimizer": "momentum",
    "learning_rate": "auto",
    "early_exaggeration": 12.0,
    "exaggeration": 1.0,
    "max_iter": 2000,
    "tol": 5e-5,
}


def _schedule(latent=STUDENT, **parameters):
    return make_schedule(latent, **{**DEFAULTS, **parameters})


def test_defaults():
    schedule = _schedule()
    assert (schedule.early.n_iter, schedule.main.n_iter, schedule.n_iter) == (100, 1900, 2000)
    assert (schedule.early.exaggeration, schedule.main.exaggeration) == (12.0, 1.0)
    assert schedule.early.rate == pytest.approx(0.25 / 12.0)
    assert schedule.main.rate == 1.0
    assert (schedule.tol, schedule.check_every, schedule.patience, schedule.careful) == (5e-5, 50, 2, True)


def test_the_early_phase_takes_at_most_a_third():
    schedule = _schedule(max_iter=60)
    assert (schedule.early.n_iter, schedule.main.n_iter) == (20, 40)


def test_learning_rates_are_divided_by_the_exaggeration():
    schedule = _schedule(learning_rate=0.6, early_exaggeration=3.0, exaggeration=2.0)
    assert schedule.early.rate == pytest.approx(0.6 * 0.25 / 3.0)
    assert schedule.main.rate == pytest.approx(0.6 / 2.0)


def test_the_momentum_of_the_student_kernel_rises():
    schedule = _schedule()
    assert [schedule.momentum_at(i) for i in (0, 25, 50, 1500)] == pytest.approx([0.8, 0.875, 0.95, 0.95])


def test_the_gaussian_kernel_takes_smaller_steps():
    schedule = _schedule(GAUSSIAN)
    assert schedule.main.rate == 0.25
    assert [schedule.momentum_at(i) for i in (0, 50)] == [0.8, 0.8]


def test_settling_is_the_main_descent_in_two_halves():
    schedule = _schedule(exaggeration=2.0).settling(101)
    assert (schedule.early.n_iter, schedule.main.n_iter) == (50, 51)
    for phase in (schedule.early, schedule.main):
        assert (phase.exaggeration, phase.rate) == (2.0, 0.5)
    assert (schedule.early.momentum, schedule.momentum_at(0), schedule.momentum_at(50)) == (0.8, 0.8, 0.95)
    assert _schedule().settling(1).n_iter == 1


def test_adam_stops_as_in_the_paper():
    schedule = _schedule(optimizer="adam", learning_rate=0.3, exaggeration=1.5, max_iter=70)
    assert (schedule.early.n_iter, schedule.main.n_iter) == (0, 70)
    assert (schedule.main.rate, schedule.main.exaggeration) == (0.3, 1.5)
    assert (schedule.check_every, schedule.patience, schedule.careful) == (1, 1, False)


def test_optimizers():
    execution = Threads(3)
    momentum = make_optimizer("momentum", (7, 2), execution)
    assert isinstance(momentum, Momentum)
    assert momentum.execution is execution
    assert momentum.velocity.shape == (7, 2)
    adam = make_optimizer("adam", (7, 2), execution)
    assert isinstance(adam, Adam)
    assert adam.mean.shape == (7, 2)
