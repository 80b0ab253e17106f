"""Small helpers that any floor may use: texts, files, checks of numbers."""
