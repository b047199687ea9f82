"""Measurements: convergence, time, memory and peers. `python -m benchmarks --help` lists them."""
