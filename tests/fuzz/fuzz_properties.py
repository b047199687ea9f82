"""All properties: importing their modules fills the table."""

from . import properties_of_affinities, properties_of_inputs, properties_of_layouts
from .property_table import PROPERTIES

__all__ = ["PROPERTIES", "properties_of_affinities", "properties_of_inputs", "properties_of_layouts"]
