"""Run experiments and publish their results; `reproduction` and `benchmarks` are built on this package.

Read the files in this order: `experiment.py` (an experiment plans, draws and reports cases), `processes.py` (runs
cases), `results_file.py` (stores finished cases in a JSON file), `results_page.py` (writes Markdown tables and the
page) and `command_line.py` (combines them into a program). Experiments get their data from `data_sets.py`, other
packages from `peers.py`, and a description of the machine from `machine.py`.
"""
