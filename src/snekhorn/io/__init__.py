"""Read points from files, and read and write layouts."""

from ..errors import InputError
from .layout_files import Layouts, read_layouts, write_layouts
from .safe_output import check_output, replacing
from .table import Table
from .table_files import read_table

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
