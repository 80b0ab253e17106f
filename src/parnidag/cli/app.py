"""The command line: which commands there are, and how they end.

What they do is in `runs` (those that run something) and `saved` (those that read results). Words become objects in
`model` and `options`.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import fields

from cyclopts import App, CycloptsError
from cyclopts.exceptions import UnusedCliTokensError

from parnidag._util.text import visible
from parnidag._version import __version__
from parnidag.cli import runs, saved
from parnidag.cli.compiling import compile_
from parnidag.cli.model import ModelOptions
from parnidag.cli.options import OutputOptions, RunningOptions, SamplingOptions
from parnidag.cli.process import INTERRUPTED, TERMINATED
from parnidag.cli.screens import error_line
from parnidag.errors import ParnidagError, TerminatedError, WorkersLostError

USER_MISTAKE = 2
BROKEN_PIPE = 141

PIPE_WIDTH = 250
"""Help in a pipe is not wrapped: a pager or `grep` sees whole options."""

_OPTIONS = {"nodes", "edges", "rows", "noise", "truth", "cause", "effect", "data"} | {
    option.name
    for options in (ModelOptions, SamplingOptions, RunningOptions, OutputOptions)
    for option in fields(options)
}
"""Arguments of the library that are options here."""

app = App(
    name="parnidag",
    help="The posterior over causal graphs: how probable every edge is, from a table of data.",
    version=f"parnidag {__version__}",
)

for command in (runs.demo, runs.sample, runs.exact, saved.report, saved.effects, runs.scores, runs.simulate):
    app.command(command)
app.command(compile_, name="compile")
app.command(saved.compare, usage="Usage: parnidag compare [OPTIONS] RESULT...")


def run(arguments: Sequence[str]) -> int:
    """Run one command; a user's mistake becomes one line on standard error.

    Returns 0 for success, 1 if workers were lost or the result could not be written, 2 for a user's mistake, 130 after
    Ctrl-C, 143 after SIGTERM.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a name the terminal cannot show is no reason to fail
    try:
        _make_help_fit()
        command, bound, _ = app.parse_args(list(arguments), exit_on_error=False, print_error=False)
        code = command(*bound.args, **bound.kwargs)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except CycloptsError as error:
        _fail(_misunderstood(error))
        return USER_MISTAKE
    except ParnidagError as error:
        _fail(error)
        return runs.WORKERS_LOST if isinstance(error, WorkersLostError) else USER_MISTAKE
    except BrokenPipeError:
        # Whoever read the output has left; without this the interpreter complains once more while closing.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        return USER_MISTAKE
    except TerminatedError as stop:
        sys.stderr.write(f"parnidag: terminated: {stop.reason}\n")
        return TERMINATED
    except KeyboardInterrupt as stop:
        sys.stderr.write(f"parnidag: interrupted{': ' + str(stop) if str(stop) else ''}\n")
        return INTERRUPTED


def _make_help_fit() -> None:
    """Draw the help in a terminal; in a pipe write it plainly, one option a line."""
    if sys.stdout.isatty():
        return
    from rich.console import Console

    app.help_formatter = "plain"
    app.console = Console(file=sys.stdout, width=PIPE_WIDTH, color_system=None)


def _misunderstood(error: CycloptsError) -> str:
    """Say in the words of users what the parser could not make sense of."""
    command = " ".join(error.command_chain or ())
    if isinstance(error, UnusedCliTokensError):
        return f"{command} has no use for {' '.join(error.unused_tokens or ())}: see parnidag {command} --help"
    missing = r'^Command ".*" parameter (--\w+|[A-Z]\w*) requires an argument\.'
    return re.sub(missing, rf"{command} needs \1: see parnidag {command} --help.", str(error))


def _fail(error: Exception | str) -> None:
    line = error if isinstance(error, str) else error_line(error, _OPTIONS)
    sys.stderr.write(f"parnidag: error: {visible(' '.join(line.split()))}\n")
