"""Effects on classes: truncated factorisation against sums over all rows, enumeration of graphs, and calibration."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from dags import all_dags
from scipy import stats
from scipy.special import gammaln
from test_effects import covered
from test_interventions_asked import only

import parnidag
from parnidag import Data, EdgePrior, scores
from parnidag.effects import draws as effect_draws
from parnidag.effects import tables as effect_tables
from parnidag.effects.source import source_of
from parnidag.graphs.adjacency import topological_order

ARITY = (2, 3, 2, 3)
ESS = 3.0


def table_of(n, rows=40, seed=3):
    rng = np.random.default_rng(seed)
    codes = np.zeros((rows, n), int)
    for j in range(n):
        codes[:, j] = (rng.integers(ARITY[j % 4], size=rows) + (codes[:, :j].sum(axis=1) > 1)) % ARITY[j % 4]
    return codes


def tables_given(codes, graph, arity, ess=ESS, used=None):
    """Mean tables of every node, with parents as leading axes, and the log score of the graph: straight from rows."""
    found, score = [], 0.0
    for j in range(len(graph)):
        parents = np.flatnonzero(graph[:, j])
        counts = np.zeros([*(arity[p] for p in parents), arity[j]])
        for row in codes if used is None else codes[used[:, j]]:
            counts[(*row[parents], row[j])] += 1
        prior = ess / counts.size
        found.append((parents, (counts + prior) / (counts + prior).sum(axis=-1, keepdims=True)))
        rows, mass = counts.sum(axis=-1), prior * arity[j]
        score += (gammaln(counts + prior) - gammaln(prior)).sum() - (gammaln(rows + mass) - gammaln(mass)).sum()
    return found, score


def sums_over_rows(tables, arity, do):
    """The probability of every level under do(…), as a sum over all rows there could be."""
    found = [np.zeros(k) for k in arity]
    for row in itertools.product(*map(range, arity)):
        if any(row[j] != level for j, level in do.items()):
            continue
        weight = math.prod(
            table[(*(row[p] for p in parents), row[j])] for j, (parents, table) in enumerate(tables) if j not in do
        )
        for j, level in enumerate(row):
            found[j][level] += weight
    return np.concatenate(found)


@pytest.mark.parametrize("n", [3, 4])
def test_means_given_every_graph_are_sums_over_all_rows(n):
    codes, arity = table_of(n), ARITY[:n]
    posterior = parnidag.exact(Data(codes, kind="discrete"), score=scores.BDeu(ess=ESS), draws=1, seed=1)
    source = source_of(posterior.record, None, None)
    for graph in all_dags(n):
        tables, _ = tables_given(codes, graph, arity)
        draws = effect_tables.table_draws(source, effect_draws.one_graph(graph), 1)
        for do in ({}, {0: 1}, {1: 2}, {n - 1: 0, 0: 0}):
            fixed = np.array([do.get(j, -1) for j in range(n)])
            assert np.allclose(draws.mean_given_graphs(fixed)[0], sums_over_rows(tables, arity, do), atol=1e-12)


def test_wide_graphs_and_joint_interventions_are_sums_over_all_rows():
    rng, arity = np.random.default_rng(7), (2, 3, 2, 2, 4, 2, 3)
    codes = np.vstack(
        [[np.arange(7) * 0 + row for row in range(4)] % np.array(arity), rng.integers(arity, size=(60, 7))]
    )
    posterior = parnidag.exact(Data(codes, kind="discrete"), score=scores.BDeu(ess=ESS), draws=1, seed=1)
    source = source_of(posterior.record, None, None)
    for _ in range(6):
        order, graph = rng.permutation(7), np.zeros((7, 7), bool)
        graph[np.ix_(order, order)] = np.triu(rng.random((7, 7)) < 0.55, 1)
        tables, _ = tables_given(codes, graph, arity)
        draws = effect_tables.table_draws(source, effect_draws.one_graph(graph), 1)
        for do in ({}, {int(order[1]): 0, int(order[4]): 1}, {int(order[k]): 1 for k in (0, 3, 5)}):
            fixed = np.array([do.get(j, -1) for j in range(7)])
            assert np.allclose(draws.mean_given_graphs(fixed)[0], sums_over_rows(tables, arity, do), atol=1e-12)


def test_means_over_graphs_are_those_of_enumeration():
    codes, arity = table_of(3), ARITY[:3]
    data = Data(codes, kind="discrete")
    posterior = parnidag.exact(data, score=scores.BDeu(ess=ESS), prior=EdgePrior(h=0.5), draws=6000, seed=2)
    found = [tables_given(codes, graph, arity) for graph in all_dags(3)]
    logs = np.array([score for _, score in found])
    weights = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    risks = [np.array([sums_over_rows(tables, arity, {1: a}) for tables, _ in found]) for a in range(3)]
    contrast = posterior.contrast(do={"X1": "2"}, versus={"X1": "0"})
    error = np.maximum(5 * contrast.summary()["mcse"], 1e-12).to_numpy()
    keep = contrast.mean.index.get_level_values("node") != "X1"
    assert (np.abs(contrast.mean - weights @ (risks[2] - risks[0]))[keep] < error).all()
    effects = posterior.effects()
    assert np.allclose(effects.mean.loc[("X1", "2"), ("X0", "1")], contrast.mean["X0", "1"], atol=1e-12)
    paths = posterior.path_probabilities.to_numpy()
    off = ~np.eye(3, dtype=bool)
    assert np.allclose(effects.probability.to_numpy()[off], paths[off], atol=1e-12)


def test_draws_given_a_graph_have_the_moments_of_dirichlet_tables():
    """X0 → X1: the risk difference of one table has a closed mean and variance."""
    codes = table_of(2, rows=25)
    graph = np.array([[0, 1], [0, 0]], bool)
    posterior = parnidag.exact(
        Data(codes, kind="discrete"), score=scores.BDeu(ess=ESS), prior=only(graph), draws=20_000, seed=1
    )
    drawn = posterior.contrast(do={"X0": 1}, versus={"X0": 0}).draws("X1", "2")
    counts = np.array([[(codes[codes[:, 0] == a, 1] == b).sum() for b in range(3)] for a in range(2)]) + ESS / 6
    whole = counts.sum(axis=1)
    p = counts[:, 2] / whole
    variance = (p * (1 - p) / (whole + 1)).sum()
    assert abs(drawn.mean() - (p[1] - p[0])) < 5 * math.sqrt(variance / 20_000)
    assert abs(drawn.var() / variance - 1) < 0.06
    table = posterior.effects().summary("X0", "X1").set_index("level")
    assert table.loc["2", "sd"] == pytest.approx(math.sqrt(variance), rel=0.03)


def test_simulated_rows_agree_with_exact_sums_and_say_so(monkeypatch):
    codes = table_of(4)
    posterior = parnidag.exact(Data(codes, kind="discrete"), draws=200, seed=1)
    exact = posterior.contrast(do={"X0": 1}, versus={"X0": 0})
    assert exact.method == "exact sums (variable elimination)"
    monkeypatch.setattr(effect_tables, "MOST_CELLS", 1)
    simulated = posterior.contrast(do={"X0": 1}, versus={"X0": 0})
    assert simulated.method == "2000 simulated rows a draw"
    assert (np.abs(simulated.difference - exact.difference) < 5 / np.sqrt(2000)).all()
    assert np.abs(simulated.difference - exact.difference).mean() < 0.02
    assert ((simulated.difference == 0) >= (exact.difference == 0)).all()
    monkeypatch.setattr(effect_tables, "MOST_CELLS", 5)
    assert "of the draws, 2000 simulated rows a draw for the others" in posterior.effects().method


def test_risks_that_all_but_vanish_give_infinite_ratios_and_no_warning():
    """Rare combinations of wide columns have drawn probabilities as small as numbers can be."""
    codes = np.array([[0, 0]] * 20 + [[1, 1]] * 20)
    graph = np.array([[0, 1], [0, 0]], bool)
    posterior = parnidag.exact(
        Data(codes, kind="discrete"), score=scores.BDeu(ess=0.02), prior=only(graph), draws=400, seed=1
    )
    drawn = posterior.intervene({"X0": 0}).draws("X1", "1")
    assert ((drawn > 0) & (drawn < 1e-308)).any()
    assert posterior.effects().summary("X0", "X1")["ratio_95%"].item() > 1e200


def test_only_rows_in_which_a_node_was_not_set_inform_its_table():
    codes = table_of(3, rows=60)
    mask = np.zeros((60, 3), bool)
    mask[40:, 1] = True
    graph = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
    data = Data(codes, kind="discrete", interventions=mask)
    posterior = parnidag.exact(data, score=scores.BDeu(ess=ESS), prior=only(graph), draws=2, seed=1)
    tables, _ = tables_given(codes, graph, ARITY[:3], used=~mask)
    assert np.allclose(posterior.intervene({"X0": 1}).mean, sums_over_rows(tables, ARITY[:3], {0: 1}), atol=1e-12)
    wrong, _ = tables_given(codes, graph, ARITY[:3])
    assert not np.allclose(posterior.intervene({"X0": 1}).mean, sums_over_rows(wrong, ARITY[:3], {0: 1}), atol=1e-3)


def test_prior_weight_that_is_learned_is_averaged_over():
    codes, graph = table_of(3), np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], bool)
    values = (0.5, 4.0, 30.0)
    data = Data(codes, kind="discrete")
    posterior = parnidag.exact(data, score=scores.BDeu(ess=values), prior=only(graph), draws=2, seed=1)
    found = [tables_given(codes, graph, ARITY[:3], ess) for ess in values]
    logs = np.array([score for _, score in found])
    weights = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    expected = weights @ np.array([sums_over_rows(tables, ARITY[:3], {0: 1}) for tables, _ in found])
    assert np.allclose(posterior.intervene({"X0": 1}).mean, expected, atol=1e-10)


def test_saved_results_answer_the_same(tmp_path):
    words = np.array(["low", "mid", "high"])[table_of(3) % 3]
    posterior = parnidag.exact(Data(words, names=["dose", "sex", "ill"]), draws=100, seed=1)
    again = parnidag.load(posterior.save(tmp_path / "p.nc"))
    assert again.effects().summary().equals(posterior.effects().summary())
    given = posterior.effects(data=Data(words, names=["dose", "sex", "ill"])).summary()
    assert given.equals(posterior.effects().summary())


def test_tables_that_are_large_are_not_kept_but_asked_for(tmp_path, monkeypatch):
    from parnidag.data import kept

    monkeypatch.setattr(kept, "MOST_KEPT_CELLS", 10)
    data = Data(table_of(3), kind="discrete")
    posterior = parnidag.exact(data, draws=20, seed=1)
    assert len(posterior.intervene({"X0": 1}).summary())
    again = parnidag.load(posterior.save(tmp_path / "p.nc"))
    with pytest.raises(parnidag.ParnidagError, match="pass the table of the run as data="):
        again.effects()
    assert again.effects(data=data).summary().equals(posterior.effects().summary())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"X0": "5"}, r"do\['X0'\] must be one of the levels 0, 1, got '5'"),
        ({"X0": 0.5}, r"do\['X0'\] must be one of the levels"),
        ({"Y": 1}, "do must be the name of a node"),
        ({}, "do must say which nodes"),
    ],
)
def test_levels_that_do_not_exist_are_refused(wrong, message):
    posterior = parnidag.exact(Data(table_of(3), kind="discrete"), draws=2, seed=1)
    with pytest.raises(parnidag.ParnidagError, match=message):
        posterior.intervene(wrong)
    with pytest.raises(parnidag.ParnidagError, match="probabilities"):
        posterior.effects(standardised=True)


# ── calibration ───────────────────────────────────────────────────────────────────────────────────────────────────────

SETS, DRAWS, ROWS = 300, 100, 15


def tables_from_prior(rng, graph):
    tables = []
    for j in range(len(graph)):
        parents = np.flatnonzero(graph[:, j])
        prior = ESS / 2 ** (len(parents) + 1)
        tables.append((parents, rng.dirichlet([prior, prior], size=(2,) * len(parents))))
    return tables


def rows_of(rng, graph, tables):
    codes = np.zeros((ROWS, len(graph)), int)
    for j in topological_order(graph):
        parents, table = tables[j]
        codes[:, j] = rng.random(ROWS) >= table[(*codes[:, parents].T, 0)]
    return codes


@pytest.fixture(scope="module")
def repeated():
    """Posteriors of data from the prior, with the true risk difference of X0 on X1."""
    rng = np.random.default_rng(5)
    graphs = all_dags(3)
    graphs = graphs[~graphs[:, 1, 0]]
    prior = EdgePrior(h=0.5, forbidden=[("X1", "X0")])
    found = []
    while len(found) < SETS:
        graph = graphs[rng.integers(len(graphs))]
        tables = tables_from_prior(rng, graph)
        codes = rows_of(rng, graph, tables)
        frame = pd.DataFrame({f"X{j}": pd.Categorical(codes[:, j], categories=[0, 1]) for j in range(3)})
        if (np.ptp(codes, axis=0) == 0).any():  # constant columns are refused
            continue
        posterior = parnidag.exact(Data(frame), score=scores.BDeu(ess=ESS), prior=prior, draws=DRAWS, seed=len(found))
        risks = [sums_over_rows(tables, (2, 2, 2), {0: a}) for a in range(2)]
        truth = (risks[1] - risks[0])[3] if reaches(graph, 0, 1) else 0.0
        found.append((posterior, posterior.effects(), truth))
    return found


def reaches(graph, i, j):
    return bool(np.linalg.matrix_power(graph.astype(int) + np.eye(3, dtype=int), 3)[i, j])


def positions(repeated, effect):
    rng = np.random.default_rng(1)
    found = []
    for posterior, effects, truth in repeated:
        drawn = effect(posterior, effects)
        below, equal = (drawn < truth).sum(), (drawn == truth).sum()
        found.append((below + rng.integers(equal + 1)) / (DRAWS + 1) + rng.random() / (DRAWS + 1))
    return np.array(found)


def test_intervals_cover_what_they_say(repeated):
    found = positions(repeated, lambda _, effects: effects.draws("X0", "X1").ravel())
    assert covered(found) > 1e-3
    assert stats.kstest(found, "uniform").pvalue > 1e-3


def test_probability_of_no_effect_is_calibrated(repeated):
    zero = np.array([1 - effects.probability.loc["X0", "X1"] for _, effects, _ in repeated])
    truth = np.array([truth == 0 for *_, truth in repeated])
    assert abs((truth - zero).sum() / math.sqrt((zero * (1 - zero)).sum())) < 3.5


def without_parameters(posterior, effects):
    *_, means, follows = effects.contrast_of(0, 1)
    return np.where(follows, means, 0.0)[:, 3]


def without_graphs(posterior, effects):
    best = effect_draws.one_graph(posterior.best.adjacency)
    repeat = effect_draws.DrawnGraphs(np.zeros((1, DRAWS), np.int64), best.laid)
    one = effect_tables.table_draws(source_of(posterior.record, None, None), repeat, 1)
    return type(effects)(one, True).draws("X0", "X1").ravel()


def turned_round(posterior, effects):
    return effects.draws("X1", "X0").ravel()


@pytest.mark.parametrize("twin", [without_parameters, without_graphs, turned_round])
def test_broken_twins_are_noticed(repeated, twin):
    found = positions(repeated, twin)
    assert min(covered(found), stats.kstest(found, "uniform").pvalue) < 1e-4
