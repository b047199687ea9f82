"""Measure time, memory, convergence and quality, beside other packages; run with `python -m benchmarks NAME`.

Each file has a `plan` (the cases to compute), a `report` (its section of the page) and an `EXPERIMENT` that ties them
together, as in `reproduction`; `measure.py` has what they share. `fingerprints.py` stands apart: it hashes what the
library computes, to compare two versions of the code.
"""
