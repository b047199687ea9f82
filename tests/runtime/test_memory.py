import os
import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from snekhorn.affinities import SymmetricEntropicAffinity
from snekhorn.errors import MissingMemoryError
from snekhorn.geometry.costs import graph_bytes
from snekhorn.runtime import memory
from snekhorn.runtime.execution import choose_execution


def test_what_fits_passes(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 100)
    memory.require_memory(100, "a matrix", "make it smaller")


def test_what_does_not_fit_says_how_much_and_what_to_change(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 2 * memory.GIB)
    with pytest.raises(MemoryError, match=r"for a matrix: about 3\.0 GiB needed, only 2\.0 GiB .*; make it smaller"):
        memory.require_memory(3 * memory.GIB, "a matrix", "make it smaller")


def test_a_system_that_does_not_tell_is_trusted(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    memory.require_memory(1e30, "a matrix", "make it smaller")


@pytest.fixture
def half_used(monkeypatch):
    """Make the process use 2 GiB, and leave 6 GiB."""
    monkeypatch.setattr(memory, "used_bytes", lambda: 2 * memory.GIB)
    monkeypatch.setattr(memory, "available_bytes", lambda: 6 * memory.GIB)


@pytest.mark.parametrize(
    ("max_memory", "left"),
    [(None, 6.0), (0.5, 2.0), ("75%", 4.0), (5 * 2**30, 3.0), ("5GiB", 3.0), ("80GB", 6.0), (1.0, 6.0)],
)
def test_a_limit_counts_what_is_in_use(max_memory, left, half_used):
    with memory.limited_memory(max_memory):
        assert memory.left_bytes() == pytest.approx(left * memory.GIB)
        memory.require_memory(left * memory.GIB, "a matrix", "make it smaller")
        with pytest.raises(MemoryError, match=r"for a matrix: about .* GiB needed.*; .*make it smaller\."):
            memory.require_memory(left * memory.GIB + 9.0, "a matrix", "make it smaller")
    assert memory.left_bytes() == 6 * memory.GIB


def test_a_limit_below_what_is_in_use_leaves_nothing(half_used):
    with memory.limited_memory("1GB"):
        assert memory.left_bytes() == 0.0


def test_a_limit_below_what_is_in_use_can_only_be_raised(half_used):
    message = r"^max_memory='1GB' is less than the program already uses \(about 2\.0 GiB\); raise it\.$"
    with memory.limited_memory("1GB"), pytest.raises(MemoryError, match=message):
        memory.require_memory(3 * memory.GIB, "a matrix", "make it smaller")


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(99, "99 bytes"), (10**6, "1.0 MiB"), (10**8, "95.4 MiB"), (2 * 10**8, "0.2 GiB"), (10**10, "9.3 GiB")],
)
def test_sizes_have_units_that_fit(n_bytes, text):
    assert memory.size_text(n_bytes) == text


@pytest.mark.parametrize(
    ("remedies", "text"),
    [((), "lack"), (("a",), "lack; a."), (("a", "b"), "lack; a, or b."), (("a", "b", "c"), "lack; a, b, or c.")],
)
def test_an_error_lists_its_remedies(remedies, text):
    error = MissingMemoryError("lack", *remedies)
    assert str(error) == str(pickle.loads(pickle.dumps(error))) == text


def test_the_error_of_a_limit_names_it(half_used):
    what = r"about 5\.0 GiB needed, including 2\.0 GiB in use, but max_memory='4GiB' allows 4\.0 GiB; raise it, or make"
    with memory.limited_memory("4GiB"), pytest.raises(MemoryError, match=what):
        memory.require_memory(3 * memory.GIB, "a matrix", "make it smaller")


def test_a_system_that_does_not_tell_still_has_a_limit_in_bytes(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: None)
    monkeypatch.setattr(memory, "used_bytes", lambda: 0)
    with memory.limited_memory(1000):
        assert memory.left_bytes() == 1000
    with memory.limited_memory(0.5):
        assert memory.left_bytes() is None


ALLOCATE = """
import numpy as np
from snekhorn.runtime import memory
before = memory.used_bytes()
block = np.ones(2**24)
assert memory.used_bytes() - before > 0.9 * block.nbytes
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell")
def test_this_process_uses_what_it_allocates():
    # In a process of its own: this one has large libraries, whose memory a busy system takes back meanwhile.
    subprocess.run([sys.executable, "-c", ALLOCATE], check=True)


def test_this_system_has_some():
    available = memory.available_bytes()
    assert available is None or available > memory.GIB / 100


MIB = 2**20


@pytest.fixture
def system(tmp_path):
    """Write the files of a system with 8 GiB of available memory, and read its limits."""

    def limits(files):
        for name, text in {"proc/meminfo": f"MemTotal: 1 kB\nMemAvailable: {8 * MIB} kB\n", **files}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        return memory.memory_limits(tmp_path)

    return limits


def test_the_machine_alone(system):
    assert system({}) == {"machine": 8 * memory.GIB}
    assert system({"proc/self/cgroup": "garbage\nof:another kind\n\n0::/\n5:cpu:/x\n"}) == {"machine": 8 * memory.GIB}


@pytest.mark.parametrize("name", ["memory.max", "memory.high"])
def test_a_container_of_version_2(system, tmp_path, name):
    group = "sys/fs/cgroup/pod/app"
    files = {
        "proc/self/cgroup": "0::/pod/app\n",
        f"{group}/memory.max": "max\n",
        f"{group}/memory.high": "max\n",
        f"{group}/memory.current": f"{300 * MIB}\n",
        f"{group}/memory.stat": f"anon 1\ninactive_file {60 * MIB}\nactive_file {40 * MIB}\nslab 9\n",
    }
    assert system(files) == {"machine": 8 * memory.GIB}
    assert system({**files, f"{group}/{name}": f"{512 * MIB}\n"})["container"] == 312 * MIB
    outer = {"sys/fs/cgroup/pod/memory.max": f"{400 * MIB}\n", "sys/fs/cgroup/pod/memory.current": f"{390 * MIB}\n"}
    assert system(outer)["container"] == 10 * MIB
    assert memory.available_bytes(tmp_path) == 10 * MIB
    assert system({"sys/fs/cgroup/pod/memory.current": f"{500 * MIB}\n"})["container"] == 0


@pytest.mark.parametrize("group", ["docker/1234", ""])  # as seen from the host, and from inside the container
def test_a_container_of_version_1(system, group):
    folder = f"sys/fs/cgroup/memory/{group}"
    files = {
        "proc/self/cgroup": "7:cpu,cpuacct:/\n4:memory:/docker/1234\n0::/\n",
        f"{folder}/memory.limit_in_bytes": "9223372036854771712\n",
        f"{folder}/memory.usage_in_bytes": f"{100 * MIB}\n",
        f"{folder}/memory.stat": f"inactive_file 5\ntotal_inactive_file {30 * MIB}\ntotal_active_file {10 * MIB}\n",
    }
    assert system(files) == {"machine": 8 * memory.GIB}
    assert system({**files, f"{folder}/memory.limit_in_bytes": f"{512 * MIB}\n"})["container"] == 452 * MIB


LIMITED = """
import resource
import numpy as np
from snekhorn import TSNEkhorn
from snekhorn.runtime.memory import memory_limits
assert "ulimit" not in memory_limits()
kind = getattr(resource, "{name}")
pages = open("/proc/self/statm").read().split()
used = int(pages[0 if kind == resource.RLIMIT_AS else 5]) * resource.getpagesize()
resource.setrlimit(kind, (used + 300 * 2**20, resource.RLIM_INFINITY))
assert 250 * 2**20 < memory_limits()["ulimit"] <= 300 * 2**20
try:
    TSNEkhorn(n_neighbors=None).fit(np.zeros((4000, 2)))
except MemoryError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not enforce these limits")
@pytest.mark.parametrize("name", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_a_limit_of_the_shell(name):
    command = [sys.executable, "-c", LIMITED.format(name=name)]
    environment = {**os.environ, "MALLOC_ARENA_MAX": "1"}  # otherwise every new thread reserves 64 MiB
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert "about 0.7 GiB needed, only 0.3 GiB available" in run.stdout


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [2, 200])  # with few hubs, and with many
def test_what_is_asked_for_an_affinity_of_neighbours_is_enough(p, dtype):
    X, k = np.random.default_rng(0).normal(size=(3000, p)).astype(dtype), 30
    affinity = SymmetricEntropicAffinity(10.0, n_neighbors=k, self_loops=False)
    affinity.fit(X[:500])  # what it takes to compile a kernel does not count
    estimate = graph_bytes(X, k, "sqeuclidean", choose_execution(None).n_threads)
    tracemalloc.start()
    affinity.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.5 < peak / estimate < 1.0
