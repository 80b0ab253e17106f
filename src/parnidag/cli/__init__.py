"""The command line.

Nothing is imported here that takes long: whoever presses Ctrl-C while the rest is loaded gets one line too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from parnidag.cli.process import INTERRUPTED, imports_ended_by_ctrl_c, leave


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    try:
        with imports_ended_by_ctrl_c():
            from parnidag.cli.app import run

            code = run(sys.argv[1:] if arguments is None else arguments)
    except KeyboardInterrupt:  # before there was a command, or while one was saying farewell
        sys.stderr.write("parnidag: interrupted\n")
        code = INTERRUPTED
    leave(code)
