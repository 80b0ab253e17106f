"""PARNI-DAG: `settings`, `algorithm1` and what belongs to it, and the mixture with other moves."""

from parnidag.samplers.parni.settings import PARNI as PARNI
