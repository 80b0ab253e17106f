"""Intervals of effects cover what they say, for tables from each model's prior; what leaves something out does not."""

import pytest

from benchmarks.effects import ASKED, MODELS, judge, no_effect, repeated


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_ninety_per_cent_intervals_cover_ninety_per_cent(name):
    frame = repeated(MODELS[name], 200, seed=3)
    for asked in ASKED:
        _, binomial, uniform = judge(frame[asked])
        p = min(binomial, uniform)
        assert p > 1e-3 if asked == "posterior" else p < 1e-4, asked
    assert abs(no_effect(frame)) < 3.5
