"""Parallel execution, memory checks, progress, interrupts, warnings and parameter checks."""
