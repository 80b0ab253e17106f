"""Measurements: how fast the library is, and which settings mix best. Nothing here runs in the tests."""
