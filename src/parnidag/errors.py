"""What goes wrong on the user's side: every such error derives from `ParnidagError` and says what to do."""


class ParnidagError(ValueError):
    """A mistake in what was passed in: the message names the argument, what was given and what is allowed."""


class DataError(ParnidagError):
    """The table cannot be used as it is."""


class PriorError(ParnidagError):
    """The prior knowledge contradicts itself or names unknown nodes."""


class StoppedWarning(UserWarning):
    """A run ended early, or something of it could not be written; what there is was returned."""


class NotWrittenWarning(StoppedWarning):
    """The result could not be written to its file and is in memory only."""
