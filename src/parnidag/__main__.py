"""``python -m parnidag``: the command line."""

from __future__ import annotations

from parnidag.cli import main

if __name__ == "__main__":
    main()
