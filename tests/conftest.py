"""What all tests stand on."""

from __future__ import annotations

import signal

import pytest


@pytest.fixture(scope="session", autouse=True)
def interrupts_are_heard():
    """Hear Ctrl-C even if the tests run in the background of a shell, which lets them ignore it.

    Tests that press it would otherwise wait for ever, and so would the commands that they start.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
