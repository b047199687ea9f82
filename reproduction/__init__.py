"""The paper's experiments, one file per figure or table; run them with `python -m reproduction NAME`.

Each file has a `plan` (the cases to compute), a `report` (its section of the results page), perhaps a `draw` (its
picture), and an `EXPERIMENT` that ties them together. They share the paper's numbers (`paper.py`), its data and grid of
perplexities (`paper_data.py`), the protocols for layouts (`layout_protocols.py`) and clustering (`clustering.py`), the
verdicts (`verdicts.py`) and parts of the pictures (`drawing.py`).
"""
