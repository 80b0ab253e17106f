"""What goes wrong on the user's side: every such error derives from `ParnidagError` and says what to do."""


class ParnidagError(ValueError):
    """A mistake in what was passed in: the message names the argument, what was given and what is allowed."""


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


class StoppedWarning(UserWarning):
    """A run ended early, or something of it could not be written; what there is was returned."""


class NotWrittenWarning(StoppedWarning):
    """The result could not be written to its file and is in memory only."""
