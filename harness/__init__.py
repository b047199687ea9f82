"""Run experiments and publish their results; `reproduction` and `benchmarks` are built on it.

Reading order: `experiment.py` (an experiment plans cases, draws and reports them), `processes.py` (where cases run),
`results_file.py` (finished cases in a JSON file), `results_page.py` (Markdown tables and the page) and
`command_line.py` (the program over all of it). Experiments take their data from `data_sets.py`, other packages from
`peers.py`, and a description of the machine from `machine.py`.
"""
