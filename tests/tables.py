"""Tables to read, and what becomes of them, for the tests of reading and of the data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from parnidag.data import Data
from parnidag.errors import DataError

EPSILON = np.finfo(float).eps
NAMES = ["praf", "pmek", "plcg", "PIP2"]


def example(rows=40, columns=4, seed=1):
    """A table of correlated columns with different means and scales."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(columns, columns))
    return (rng.normal(size=(rows, columns)) @ mixing) * 10.0 ** np.arange(columns) + np.arange(columns)


def frame():
    return pd.DataFrame(example(), columns=NAMES)


def refusal(table, **options):
    with pytest.raises(DataError) as caught:
        Data(table, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def usable(table, **options):
    try:
        return Data(table, **options)
    except DataError:
        return None
