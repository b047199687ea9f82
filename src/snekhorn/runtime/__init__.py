"""Where loops run, how much memory there is, progress, warnings and parameter checks."""
