"""Which node to set next: bits against enumeration of interventional classes, and whether following them pays."""

import math

import numpy as np
import pytest
from dags import all_dags
from test_effects import pattern_of

import parnidag
from benchmarks.experiments import study
from parnidag import Data, EdgePrior, scores

CHAINS = EdgePrior(h=0.5, forbidden=[("X0", "X2"), ("X2", "X0")])


def strong_chain(rows=4000):
    rng = np.random.default_rng(1)
    x = rng.normal(size=rows)
    y = x + rng.normal(size=rows)
    return np.column_stack([x, y, y + rng.normal(size=rows)])


def test_a_chain_is_known_by_its_middle():
    """A class of three equally probable members: the middle tells all of them apart, an end one from two."""
    posterior = parnidag.exact(strong_chain(), score=scores.BGe(), prior=CHAINS, draws=20_000, seed=1)
    table = posterior.suggest_experiments().set_index("node")
    assert table.index[0] == "X1"
    assert table.loc["X1", "bits"] == pytest.approx(math.log2(3), abs=0.02)
    assert table.loc["X0", "bits"] == pytest.approx(-(math.log2(1 / 3) + 2 * math.log2(2 / 3)) / 3, abs=0.02)
    assert table.loc["X1", "open_edges"] == pytest.approx(2, abs=0.02)
    assert table.loc["X1", "why"].count(" or back (") == 2


def bits_by_enumeration(graphs, weights, node):
    """Entropy of interventional classes (patterns with and without the edges into the node) beyond that of patterns."""

    def entropy(keys):
        mass = {}
        for key, weight in zip(keys, weights, strict=True):
            mass[key] = mass.get(key, 0.0) + weight
        return -sum(m * math.log2(m) for m in mass.values() if m > 0)

    cut = graphs.copy()
    cut[:, :, node] = False
    before = [pattern_of(graph) for graph in graphs]
    return entropy([(p, pattern_of(c)) for p, c in zip(before, cut, strict=True)]) - entropy(before)


@pytest.mark.parametrize("node", [0, 1, 2])
def test_bits_are_those_of_interventional_classes(node):
    """With one class of graphs at a time, they are equal; so a prior that leaves a single skeleton is used."""
    posterior = parnidag.exact(strong_chain(), score=scores.BGe(), prior=CHAINS, draws=20_000, seed=1)
    graphs = all_dags(3)
    graphs = graphs[~(graphs[:, 0, 2] | graphs[:, 2, 0])]
    probability = {top.adjacency.tobytes(): top.probability for top in posterior.top_graphs(50)}
    weights = np.array([probability.get(graph.tobytes(), 0.0) for graph in graphs])
    table = posterior.suggest_experiments().set_index("node")
    assert table.loc[f"X{node}", "bits"] == pytest.approx(
        bits_by_enumeration(graphs, weights / weights.sum(), node), abs=0.02
    )


def test_what_was_set_already_has_nothing_left_to_tell():
    rng = np.random.default_rng(2)
    values, mask = strong_chain(), np.zeros((4000, 3), bool)
    mask[2000:, 1] = True
    values[2000:, 1] = rng.normal(size=2000)
    values[2000:, 2] = values[2000:, 1] + rng.normal(size=2000)
    posterior = parnidag.exact(Data(values, interventions=mask), score=scores.BGe(), draws=2000, seed=1)
    table = posterior.suggest_experiments()
    assert (table["bits"] < 0.01).all()
    assert table["why"].tolist() == ["no edge here has a direction that is left open"] * 3


def test_experiments_about_an_effect():
    posterior = parnidag.exact(strong_chain(), score=scores.BGe(), prior=CHAINS, draws=8000, seed=1)
    table = posterior.suggest_experiments(("X0", "X2"), nodes=["X0", "X1", "X2"]).set_index("node")
    assert table.index[0] == "X0"
    assert table.loc["X0", "share"] == 1.0
    assert table.loc["X0", "why"] == "setting X0 and looking at X2 shows the effect itself"
    assert table.loc["X1", "share"] == pytest.approx(1.0, abs=0.02)  # the direction of X0 — X1 decides
    third = 1 / 3  # X0 → X1 → X2 has the effect, the other two have none; the end X2 tells X0 ← X1 ← X2 from these
    whole, left = third * (1 - third), 2 * third * 0.25
    assert table.loc["X2", "share"] == pytest.approx((whole - left) / whole, abs=0.03)
    curved = parnidag.exact(strong_chain(300), score=scores.Spline(), draws=200, seed=1)
    assert set(curved.suggest_experiments(("X0", "X2"))["node"]) == {"X0", "X1", "X2"}


def test_following_the_suggestion_beats_chance_and_the_last():
    frame = study(replications=40, nodes=5, rows=200, experiment=100, seed=1)
    gain = frame["random", "shd"] - frame["suggested", "shd"]
    assert gain.mean() > 2 * gain.std() / math.sqrt(len(gain))
    worse = frame["last", "shd"] - frame["suggested", "shd"]  # the twin that ranks the wrong way round
    assert worse.mean() > 3 * worse.std() / math.sqrt(len(worse))
    assert frame["suggested", "shd"].mean() < frame["none", "shd"].mean()


def test_without_an_open_edge_there_is_nothing_to_tell():
    noise = np.random.default_rng(1).normal(size=(200, 2))
    table = parnidag.exact(noise, prior=EdgePrior(forbidden=[(0, 1), (1, 0)]), draws=20, seed=1).suggest_experiments()
    assert table[["bits", "open_edges"]].to_numpy().tolist() == [[0.0, 0.0]] * 2
    assert set(table["why"]) == {"no edge here has a direction that is left open"}


def test_mistakes_are_named():
    posterior = parnidag.exact(strong_chain(50), score=scores.BGe(), draws=20, seed=1)
    for arguments, message in (
        ({"about": "X0"}, "about must be a cause and an effect"),
        ({"about": ("X0", "X0")}, "about must be a cause and an effect"),
        ({"about": ("X0", "Y")}, "about must be the name of a node"),
        ({"nodes": ["Y"]}, "nodes must be the name of a node"),
        ({"nodes": "X0"}, "nodes must be a list of names"),
    ):
        with pytest.raises(parnidag.ParnidagError, match=message):
            posterior.suggest_experiments(**arguments)
