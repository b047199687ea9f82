"""Solvers that know no affinity: Newton-CG, dual ascent and descent steps, and the report they return."""
