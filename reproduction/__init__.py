"""Reproduce the paper's experiments, one file per figure or table: `python -m reproduction NAME`.

Each file has a `plan` (the cases to compute), a `report` (its section of the results page), optionally a `draw` (its
picture), and an `EXPERIMENT` that combines them. They share the paper's numbers (`paper.py`), its data and grid of
perplexities (`paper_data.py`), the protocols for layouts (`layout_protocols.py`) and clustering (`clustering.py`), the
verdicts (`verdicts.py`) and drawing helpers (`drawing.py`).
"""
