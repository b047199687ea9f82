"""Measure time, memory, convergence and quality, and compare with other packages: `python -m benchmarks NAME`.

Each file has a `plan` (the cases to compute), a `report` (its section of the page) and an `EXPERIMENT` that combines
them, as in `reproduction`. They share the functions in `measure.py`. `fingerprints.py` is separate: it hashes the
results of the library, to compare two versions of the code.
"""
