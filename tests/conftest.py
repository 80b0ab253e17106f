"""What all tests stand on."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings
from slow_share import DATE, SHARE, date_of_tests, of_this_turn

# the same examples in every run; --hypothesis-profile explore looks for new ones
settings.register_profile("fixed", derandomize=True)
settings.register_profile("explore", derandomize=False, print_blob=True)
settings.load_profile("fixed")


def pytest_addoption(parser):
    parser.addoption("--slow", choices=("some", "all"), default="some", help="which of the slow tests run (some)")


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes ten seconds or so, and other tests are near; see --slow")
    try:
        os.environ[DATE] = date_of_tests(os.environ).isoformat()  # for all processes of this run, also past midnight
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


def pytest_report_header(config):
    if config.getoption("--slow") == "some":
        date = os.environ[DATE]
        return f"slow tests: the share of {date}, one of {SHARE} ({DATE}={date} runs these again, --slow all runs all)"


def pytest_collection_modifyitems(config, items):
    if config.getoption("--slow") == "all":
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    left_out = set(slow) - set(of_this_turn(slow, date_of_tests(os.environ)))
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session", autouse=True)
def interrupts_are_heard():
    """Hear Ctrl-C even if the tests run in the background of a shell, which lets them ignore it.

    Tests that press it would otherwise wait for ever, and so would the commands that they start.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
