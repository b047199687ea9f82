"""The wheel and the source archive have the expected contents, and the wheel works without a checkout."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import snekhorn

pytest.importorskip("build", reason="build is not installed")
pytest.importorskip("hatchling", reason="hatchling is not installed")

ROOT = Path(__file__).parents[1]
SOURCES = {
    str(file.relative_to(ROOT / "src"))
    for file in (ROOT / "src" / "snekhorn").rglob("*")
    if file.is_file() and "__pycache__" not in file.parts
}
AROUND = {"PKG-INFO", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", ".gitignore"}
LICENCES = {"LICENSE", *(name.removeprefix("snekhorn/") for name in SOURCES if "/LICENSE" in name)}
EXTRAS = {"anndata", "dask", "zarr", "dev", "bench"}


def _run(*command, **options):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert result.returncode == 0, (command, result.stdout, result.stderr)
    return result.stdout


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The source archive, and the wheel made of it; without isolation, so that no network is needed."""
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def test_the_source_archive_is_what_a_wheel_is_made_of(archives):
    with tarfile.open(archives[0]) as archive:
        names = {member.name.split("/", 1)[1] for member in archive.getmembers() if member.isfile()}
    assert names == AROUND | {f"src/{name}" for name in SOURCES}


def test_the_wheel_is_the_package(archives):
    with zipfile.ZipFile(archives[1]) as archive:
        names = set(archive.namelist())
    inside = {name for name in names if ".dist-info/" not in name}
    assert inside == SOURCES
    assert {"snekhorn/py.typed", "snekhorn/page/assets/main.js", "snekhorn/page/vendor/regl.min.js"} <= inside
    licences = {name.split("/licenses/")[1] for name in names if "/licenses/" in name}
    assert {Path(name).name for name in licences} == {Path(name).name for name in LICENCES}


def test_metadata(archives):
    with zipfile.ZipFile(archives[1]) as archive:
        info = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(info).decode())
        entry_points = archive.read(info.replace("METADATA", "entry_points.txt")).decode()
    assert metadata["Version"] == snekhorn.__version__
    assert set(metadata.get_all("Provides-Extra")) == EXTRAS
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert "snekhorn = snekhorn.cli:main" in entry_points


@pytest.fixture(scope="module")
def installed(archives, tmp_path_factory):
    """The program, from a wheel in an environment of its own."""
    folder = tmp_path_factory.mktemp("venv")
    _run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    _run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", archives[1])
    # The dependencies are those of the environment that runs the tests, which saves installing them again. A path in a
    # .pth file comes after the packages of the environment itself, and the .pth files in it are not read: a checkout
    # that is installed there stays out of sight.
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / "dependencies.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    return folder / "bin" / "snekhorn"


@pytest.mark.slow
def test_the_wheel_works_without_a_checkout(installed, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    options = {"cwd": tmp_path, "env": environment}
    where = _run(installed.with_name("python"), "-c", "import snekhorn; print(snekhorn.__file__)", **options)
    assert Path(where).is_relative_to(installed.parents[1])
    assert _run(installed, "--version", **options).strip() == snekhorn.__version__
    assert json.loads(_run(installed, "doctor", "--json", "--quiet", **options))["test"]["passed"]

    rows = [f"{i % 7},{i % 5},{i * i % 11},{'ab'[i % 2]}" for i in range(40)]
    (tmp_path / "points.csv").write_text("\n".join(["x1,x2,x3,kind", *rows]))
    facts = json.loads(_run(installed, "embed", "points.csv", "--label", "kind", "-p", 5, "--json", **options))
    assert facts["n_points"] == 40
    starts = {"table": b"PAR1", "plot": b"\x89PNG", "html": b"<!doctype html>"}
    for name, start in starts.items():
        assert (tmp_path / facts["files"][name]).read_bytes().lower().startswith(start.lower())
