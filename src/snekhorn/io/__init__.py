"""Files in and out: tables of points, layouts, models."""

from ..errors import InputError
from .layouts import Layouts, read_layouts, write_layouts
from .read import read_table
from .table import Table
from .write import check_output, replacing

__all__ = [
    "InputError",
    "Layouts",
    "Table",
    "check_output",
    "read_layouts",
    "read_table",
    "replacing",
    "write_layouts",
]
