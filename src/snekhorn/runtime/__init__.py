"""Where loops run, how much memory there is, progress, interrupts, warnings and parameter checks."""
