import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from snekhorn.runtime.interrupts import delayed_interrupts


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_takes_effect_after_the_block():
    done = []

    def work():
        with delayed_interrupts():
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)  # a second one changes nothing
            done.append("inside")
        done.append("after")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["inside"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("interruptible")
def test_an_error_of_the_block_comes_first():
    def work():
        with delayed_interrupts():
            signal.raise_signal(signal.SIGINT)
            raise LookupError

    with pytest.raises(LookupError):
        work()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("interruptible")
def test_without_an_interrupt_nothing_happens():
    with delayed_interrupts():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_on_other_threads_the_handler_is_left_alone():
    before = signal.getsignal(signal.SIGINT)

    def work():
        with delayed_interrupts():
            return signal.getsignal(signal.SIGINT)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() is before
