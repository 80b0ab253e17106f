"""What samplers say of themselves, and that the rest of the package goes by it."""

from __future__ import annotations

import numpy as np
import pytest
from test_edge_table import record_of_space

from parnidag import samplers
from parnidag.results.edge_table import considered_edges
from parnidag.results.verdict import _other_samplers
from parnidag.samplers.base import Prepared, Sampler

ALL = [getattr(samplers, name) for name in samplers.__all__]


def test_only_samplers_that_keep_to_their_space_say_so():
    restricted = {sampler.__name__ for sampler in ALL if sampler.restricted}
    assert restricted == {"OrderMCMC", "PartitionMCMC", "IterativeMCMC"}
    assert [sampler.__name__ for sampler in ALL if sampler.tunes] == ["PARNI"]
    assert all(isinstance(sampler(), Sampler) for sampler in ALL)


@pytest.mark.parametrize(
    ("settings", "restricted"),
    [
        ({"sampler": {"name": "Mine"}, "restricted": True}, True),
        ({"sampler": {"name": "OrderMCMC"}, "restricted": False}, False),
        ({"sampler": {"name": "OrderMCMC"}}, True),  # a result of an earlier version
        ({"sampler": {"name": "REV"}}, False),
    ],
)
def test_results_know_whether_edges_outside_the_space_were_asked_for(settings, restricted):
    assert considered_edges(record_of_space(settings)).all() != restricted


USUAL = "samplers.PARNI() with its default moves"


@pytest.mark.parametrize(
    ("sampler", "suggested"),
    [
        (samplers.PARNI(), ["samplers.PARNI(rungs=8)", "samplers.PartitionMCMC()"]),
        (samplers.PARNI(rungs=8), ["samplers.PartitionMCMC()"]),
        (samplers.PARNI(moves="paper"), [USUAL, "samplers.PARNI(rungs=8)", "samplers.PartitionMCMC()"]),
        (samplers.PARNI(eta="paper"), [USUAL, "samplers.PARNI(rungs=8)", "samplers.PartitionMCMC()"]),
        (samplers.PartitionMCMC(), ["samplers.PARNI()"]),
        (samplers.Tempered(), ["parnidag.exact()", "samplers.PARNI()"]),
        (samplers.ADR(), ["samplers.PARNI()", "samplers.PartitionMCMC()"]),
    ],
    ids=repr,
)
def test_no_sampler_suggests_itself(sampler, suggested):
    assert sampler.alternatives == suggested
    assert _other_samplers({"alternatives": suggested}) == " or ".join(suggested)
    assert f"{sampler.name}()" not in _other_samplers({"sampler": sampler.describe()})


def test_parni_that_never_stops_adapting_says_so():
    warm = Prepared(warm=np.zeros((3, 3)))
    assert samplers.PARNI().caveats(warm) == []
    assert "only in the limit" in samplers.PARNI(adapt="always").caveats(warm)[0]
