"""Runs: chains as pure segments on any executor, with progress, interruption, checkpoints and draws on disk."""

from parnidag.run.chain_log import ChainLog as ChainLog
from parnidag.run.loop import Run as Run
from parnidag.run.plan import Plan as Plan
