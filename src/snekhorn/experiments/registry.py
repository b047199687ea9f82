"""All experiments by name, in the order of the paper."""

from __future__ import annotations

from . import (
    figure1,
    figure2,
    figure3,
    figure4,
    figure5,
    figure6,
    figure7,
    multiscale,
    protocol,
    sensitivity,
    snareseq,
    table1,
    table2,
    table3,
)

_MODULES = (table1, figure1, figure2, figure3, figure4, figure5, figure6, table2, figure7, table3, sensitivity)
EXPERIMENTS = {module.EXPERIMENT.name: module.EXPERIMENT for module in (*_MODULES, protocol, snareseq, multiscale)}
