"""Solvers that are independent of any affinity: Newton-CG, dual ascent, descent steps, and the solver report."""
