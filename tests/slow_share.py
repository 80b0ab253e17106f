"""Which of the slow tests run: a third of them, another one every day."""

from __future__ import annotations

import datetime

SHARE = 3
"""One of so many slow tests runs unless all are asked for; any that is asked for alone."""

DATE = "PARNIDAG_TEST_DATE"


def date_of_tests(environment):
    """The date whose share runs: as the environment says, or today's, wherever the sun stands."""
    told = environment.get(DATE)
    if told is None:
        return datetime.datetime.now(datetime.UTC).date()
    try:
        return datetime.date.fromisoformat(told)
    except ValueError:
        raise ValueError(f"{DATE}={told!r}: it is a date such as 2026-01-31") from None


def of_this_turn(slow, date):
    """Those whose turn it is: each has one within as many days as there are shares."""
    return slow[date.toordinal() % min(SHARE, len(slow)) :: SHARE] if slow else []
