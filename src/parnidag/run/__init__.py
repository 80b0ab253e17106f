"""Runs: chains as pure segments on any executor, with progress, interruption, checkpoints and draws on disk."""
