"""What goes wrong on the user's side: every such error derives from `ParnidagError` and says what to do."""

from __future__ import annotations


class ParnidagError(ValueError):
    """A mistake in what was passed in: the message names the argument, what was given and what is allowed.

    Parameters
    ----------
    message
        What is wrong.
    argument
        The argument that is refused, if the message begins with its name.
    remedy
        What to do instead, in Python's words; it ends the message.

    The command line has options in place of arguments, and puts these two, and no other part, in its own words.
    """

    def __init__(self, message: str = "", *, argument: str | None = None, remedy: str | None = None) -> None:
        super().__init__(message if remedy is None else f"{message}; {remedy}")
        self.argument = argument
        self.remedy = remedy


class DataError(ParnidagError):
    """The table cannot be used as it is."""


class PriorError(ParnidagError):
    """The prior knowledge contradicts itself or names unknown nodes."""


class WorkersLostError(ParnidagError):
    """All workers of a run were lost before there was anything to return."""


class TerminatedError(SystemExit):
    """SIGTERM came before there was anything to return: the process is to end, with the exit code of that signal."""

    def __init__(self, reason: str) -> None:
        super().__init__(143)
        self.reason = reason


class MoreLagsWarning(UserWarning):
    """Rows of a panel still depend on each other, given as much of the past as was asked for."""


class StoppedWarning(UserWarning):
    """A run ended early, or something of it could not be written; what there is was returned."""


class NotWrittenWarning(StoppedWarning):
    """The result could not be written to its file and is in memory only."""
