"""Imports go in one direction, and `import snekhorn` is lightweight."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import snekhorn

ROOT = Path(snekhorn.__file__).parent

# What each part of the package may import of the others; it may always import from itself.
CORE = {"errors", "kernels", "runtime"}
PUBLIC = {"SNE", "SNEkhorn", "SymmetricSNE", "TSNE", "TSNEkhorn", "__version__"}
ALLOWED = {
    "errors": set(),
    "registry": set(),
    "kernels": {"runtime"},
    "runtime": {"errors"},
    "solvers": CORE,
    "geometry": CORE,
    "affinities": CORE | {"geometry", "registry", "solvers"},
    "embedding": CORE | {"geometry", "solvers"},
    "estimators": CORE | {"affinities", "embedding", "geometry", "io", "registry", "solvers"},
    "metrics": CORE | {"geometry"},
    "io": {"__init__", "__version__", "colors", "errors", "geometry", "registry", "runtime"},
    "anndata": {"affinities", "embedding", "errors", "estimators", "geometry", "io", "runtime"},
    "dask": CORE | {"__init__", "__version__", "affinities", "embedding", "estimators", "geometry", "solvers"},
    "colors": set(),
    "plots": {"colors", "errors", "geometry", "io", "runtime"},
    "page": {"colors", "errors", "geometry", "io", "runtime"},
    "datasets": {"errors", "geometry", "runtime"},
    "cli": CORE
    | {"__init__", "affinities", "colors", "dask", "datasets", "embedding", "estimators", "geometry", "io", "metrics"}
    | {"page", "plots", "registry"}
    | PUBLIC,
    "__main__": {"cli"},
    "__init__": {"affinities", "datasets", "estimators", "metrics", "page", "plots", "registry"},
}

FILES = sorted(ROOT.rglob("*.py"))


def _part(file):
    return file.relative_to(ROOT).with_suffix("").parts[0]


def _imported_parts(file):
    """Return the parts of the package that a file imports, in any form of the import statement."""
    package = ("snekhorn", *file.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            base += node.module.split(".") if node.module else []
            names = [[*base, alias.name] for alias in node.names]
        else:
            continue
        yield from (name[1] for name in names if name[0] == "snekhorn" and len(name) > 1)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_point_one_way(file):
    part = _part(file)
    assert part in ALLOWED, f"{part} is new: say above what it may import"
    assert set(_imported_parts(file)) - {part} <= ALLOWED[part]


def test_the_rule_sees_the_imports_it_is_about():
    seen = {
        _part(file): set(_imported_parts(file))
        for file in (ROOT / "geometry/costs.py", ROOT / "affinities/affinity.py")
    }
    assert {"errors", "runtime"} <= seen["geometry"]
    assert {"geometry", "runtime", "solvers"} <= seen["affinities"]


def _loaded_after(statement):
    code = f"import sys; {statement}; print(*{{name.split('.')[0] for name in sys.modules}})"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_package_loads_nothing_heavy():
    loaded = _loaded_after("import snekhorn")
    assert "snekhorn" in loaded
    assert not loaded & {"numba", "sklearn", "scipy", "matplotlib", "tqdm", "pandas"}


def test_importing_the_affinities_does_not_load_matplotlib():
    assert not _loaded_after("from snekhorn import affinities") & {"numba", "sklearn"}
    loaded = _loaded_after("from snekhorn.affinities import SymmetricEntropicAffinity")
    assert "numba" in loaded
    assert "matplotlib" not in loaded


def test_pictures_leave_pyplot_alone():
    code = "import sys; from snekhorn import plots; plots.scatter([[0, 0], [1, 1]]); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "matplotlib.figure" in loaded
    assert "matplotlib.pyplot" not in loaded


def test_public_names():
    assert dir(snekhorn) == sorted(snekhorn.__all__)
    assert snekhorn.affinities.SymmetricEntropicAffinity.__module__.startswith("snekhorn.affinities")
    with pytest.raises(AttributeError, match="no_such_name"):
        snekhorn.no_such_name  # noqa: B018


def test_no_two_files_have_one_name():
    repository = ROOT.parents[1]
    folders = ("src", "tests", "benchmarks", "reproduction", "harness", "docs")
    names = [file.name for folder in folders for file in (repository / folder).rglob("*.py")]
    alike = {name for name in names if names.count(name) > 1} - {"__init__.py", "__main__.py", "conftest.py"}
    assert not alike
