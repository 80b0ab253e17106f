"""Tables in: checked, as numbers or levels, with their sufficient statistics."""

from parnidag.data.panel import Panel as Panel
from parnidag.data.table import Data as Data
from parnidag.data.table import as_data as as_data
