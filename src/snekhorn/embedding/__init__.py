"""From any affinity P to a layout Z."""
