"""Loops that know no affinity: projected Newton-CG and first-order ascent, and the report they return."""
