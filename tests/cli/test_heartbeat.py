"""Lines of progress where stderr is no terminal; the waiting is played, so that no test depends on a clock."""

import pytest

from snekhorn.cli.heartbeat import Heartbeat


class Waits:
    """Waits that end at once, until the work ends after a number of them."""

    def __init__(self, n):
        self.n, self.seconds = n, []

    def __call__(self, seconds):
        self.seconds.append(seconds)
        return len(self.seconds) > self.n


@pytest.mark.parametrize("n", [0, 3, 6])
def test_lines_become_rarer(capsys, n):
    waits = Waits(n)
    Heartbeat(waits).stop()
    assert waits.seconds == [10, 20, 30, 60, 180, 300, 300][: n + 1]
    times = ["  10 s", "  30 s", "  60 s", "  120 s", "  300 s", "  600 s"]
    assert capsys.readouterr().err.splitlines() == times[:n]


def test_a_line_shows_the_iteration_last_reached(capsys):
    def wait(seconds):
        if seconds == 20:
            heartbeat.follow(2000)(1450, 1.23456, None)
        return seconds == 30

    heartbeat = Heartbeat.__new__(Heartbeat)  # the thread must not start before the name is bound
    heartbeat.__init__(wait)
    heartbeat.stop()
    assert capsys.readouterr().err.splitlines() == ["  10 s", "  30 s, iteration 1,450 of at most 2,000, loss 1.2346"]


def test_short_stages_print_no_line(capsys):
    Heartbeat().stop()
    assert capsys.readouterr().err == ""
