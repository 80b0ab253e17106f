"""The command line."""

from parnidag.cli.app import main as main
from parnidag.cli.app import run as run
