"""Turn any affinity P into a layout Z."""
