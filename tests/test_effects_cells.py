"""Effects in tables with cells that chains draw: of the law of graphs, parameters and cells together."""

import itertools
import math
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from cells_model import CUTS, chain_of, classes_of, gaps_of, prior_parameters, table_given, target_of
from commands import one_line_error
from reference_cells import bge_log_likelihood, dags
from scipy import stats
from test_cells_classes import ESS, small_table
from test_cells_runs import SHORT, patients

import parnidag
from parnidag import Data, EdgePrior, plots, samplers, scores
from parnidag.cells.columns import plain_number
from parnidag.cells.margins import LEVELS, NUMBERS, Margin, margin_of_line, margin_of_numbers
from parnidag.cells.worlds import MOST_WORLDS, forget_worlds, make_worlds, note_world, worlds_of_chains
from parnidag.cli import app as cli
from parnidag.effects.normal import ScoreDraws, drawn_between, expected_of, setting_of
from parnidag.effects.worlds import margins_of, world_draws, worlds_of
from parnidag.errors import ParnidagError
from parnidag.results.assemble import margins_kept
from parnidag.results.posterior import Posterior
from parnidag.samplers.levels import draw_cells
from parnidag.scores.gaussian import bge_prior_scale
from parnidag.scores.normal_scores import normal_scores, ranked

MC3 = samplers.MC3()


# --- against closed forms ---------------------------------------------------------------------------------------------


def table_with_a_gap():
    x = np.random.default_rng(4).normal(size=12)
    table = np.column_stack([x, x + 0.5 * np.random.default_rng(5).normal(size=12)]) * [1.0, 3.0] + [0.0, 50.0]
    table[3, 1] = np.nan
    return table


def slope_of(z, alpha_w, parent, child):
    """Mean and variance of the coefficient of the only parent of a column under BGe, in closed form."""
    rows, n = z.shape
    sums = z.sum(axis=0)
    m = z.T @ z - np.outer(sums, sums) / (rows + 1.0) + bge_prior_scale(n, 1.0, alpha_w) * np.eye(n)
    mean = m[parent, child] / m[parent, parent]
    left = m[child, child] - mean * m[parent, child]
    shape = (rows + alpha_w - n + 2) / 2
    return mean, left / 2 / (shape - 1) / m[parent, parent]


def exact_effect(table, alpha_w, odds, cause, effect):
    """Mean and deviation of an effect, over graphs, parameters and the empty cell."""
    known = ~np.isnan(table)
    means = np.array([column[here].mean() for column, here in zip(table.T, known.T, strict=True)])
    units = np.array([column[here].std(ddof=1) for column, here in zip(table.T, known.T, strict=True)])
    z, logs, moments = (table - means) / units, [], []
    for z[3, 1] in np.linspace(-10, 10, 601):
        for graph in dags(2):
            logs.append(bge_log_likelihood(z, graph, 1.0, alpha_w) + graph.sum() * math.log(odds))
            moments.append(slope_of(z, alpha_w, cause, effect) if graph[cause, effect] else (0.0, 0.0))
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    mean, variance = np.array(moments).T
    average = weights @ mean
    ratio = units[effect] / units[cause]
    return ratio * average, ratio * math.sqrt(weights @ (variance + (mean - average) ** 2))


@pytest.fixture(scope="module")
def with_gap():
    options = {"score": scores.BGe(alpha_w=6.0), "prior": EdgePrior(h=1 / 3), "sampler": samplers.MC3()}
    return parnidag.sample(table_with_a_gap(), **options, draws=1500, tune=1000, thin=2000, seed=1, progress=False)


@pytest.mark.parametrize(("cause", "effect"), [(0, 1), (1, 0)])
def test_effects_have_the_mean_and_deviation_of_their_law(with_gap, cause, effect):
    mean, deviation = exact_effect(table_with_a_gap(), 6.0, 0.5, cause, effect)
    found = with_gap.effects().summary(f"X{cause}", f"X{effect}").iloc[0]
    worlds = with_gap.record.worlds_ends.shape[0] * with_gap.record.worlds_ends.shape[1]
    assert found["mean"] == pytest.approx(mean, abs=4.5 * deviation / math.sqrt(worlds))
    assert found["sd"] == pytest.approx(deviation, rel=0.1)
    assert 0.5 < found["graphs"] < 0.97  # the rest is the uncertainty of parameters


def test_hardly_any_empty_cell_hardly_changes_effects():
    table = parnidag.simulate(nodes=4, edges=4, rows=300, seed=2).values * [1.0, 10.0, 1.0, 0.1] + 5.0
    options = {"score": scores.BGe(alpha_w=8.0), "prior": EdgePrior(h=0.3)}
    whole = parnidag.exact(table, draws=4000, seed=1, **options)
    table[0, 0] = np.nan
    drawn = parnidag.sample(table, draws=400, thin=100, seed=1, progress=False, **options)
    for standardised in (False, True):
        one, other = (each.effects(standardised=standardised).summary() for each in (whole, drawn))
        both = one.merge(other, on=["cause", "effect"])
        scale = np.maximum(both["sd_x"], 1e-9)
        assert (np.abs(both["mean_x"] - both["mean_y"]) / scale).max() < 0.25
        assert np.abs(both["zero_x"] - both["zero_y"]).max() < 0.1
    one, other = (each.intervene({"X1": 20.0}).summary() for each in (whole, drawn))
    np.testing.assert_allclose(one["mean"], other["mean"], atol=0.15 * one["sd"].max())
    np.testing.assert_allclose(one["sd"], other["sd"], rtol=0.12)
    np.testing.assert_allclose(*(each.dose_response("X1", "X2", [0.0, 10.0]).mean for each in (whole, drawn)), atol=0.1)
    one, other = (each.coefficients(0.3).set_index(["parent", "child"]) for each in (whole, drawn))
    common = one.index.intersection(other.index)
    np.testing.assert_allclose(one.loc[common, "mean"], other.loc[common, "mean"], rtol=0.1, atol=0.01)
    shown = [each.summary().set_index(["parent", "child"])["coefficient"].loc[common] for each in (whole, drawn)]
    np.testing.assert_allclose(*(one.to_numpy(float) for one in shown), atol=0.05)


def test_a_table_of_classes_has_the_probabilities_of_all_ways_to_fill_it():
    data, options = small_table(), {"score": scores.BDeu(ess=ESS), "prior": EdgePrior(h=0.4)}
    codes = data.known_levels().codes.T
    empty = np.argwhere(codes < 0)
    logs, means = [], []
    for levels in itertools.product(range(2), repeat=len(empty)):
        filled = codes.copy()
        filled[tuple(empty.T)] = levels
        whole = parnidag.exact(Data(filled, kind="discrete"), draws=4000, seed=1, **options)
        logs.append(whole.log_evidence)
        means.append(whole.intervene({"X1": "1"}).mean.loc[["X0", "X2"]].to_numpy())
    weights = np.exp(np.array(logs) - max(logs))
    expected = weights @ np.array(means) / weights.sum()
    run = {"sampler": samplers.MC3(), "draws": 1500, "tune": 1000, "thin": 1000, "seed": 2, "progress": False}
    posterior = parnidag.sample(data, **options, **run)
    outcomes = posterior.intervene({"X1": "1"})
    found = outcomes.mean.loc[["X0", "X2"]].to_numpy()
    errors = outcomes.summary()["mcse"].to_numpy()
    assert (np.abs(found - expected) < 4.5 * errors + 0.01).all()
    assert posterior.effects().summary()["mean"].abs().max() < 1.0
    assert "exact" in posterior.effects().method


# --- coverage ---------------------------------------------------------------------------------------------------------

GRAPHS = list(dags(3))
WEIGHTS = np.array([np.exp(-0.3 * graph.sum()) for graph in GRAPHS])
WEIGHTS /= WEIGHTS.sum()
ROWS, SETS, KEPT = 25, 150, 64
LABELS = (("low", "mid", "high"), ("no", "yes"), ())
MARGINS = (
    Margin(LEVELS, np.append(CUTS[0], np.inf), np.arange(3.0)),
    Margin(LEVELS, np.append(CUTS[1], np.inf), np.arange(2.0)),
    Margin(NUMBERS, np.array([-9.0, 9.0]), np.array([-9.0, 9.0])),
)
"""As good as a straight line: so far out nobody is."""


def record_of(z, gaps, seed, nodes=None, margins=MARGINS):
    """Return what a chain keeps of a table from the model, as far as effects ask for it."""
    chain = chain_of(target_of(z, gaps, nodes=nodes), seed)
    for sweep in range(80 + 2 * MOST_WORLDS):
        if sweep == 80:
            chain.cells.forget()
        MC3.advance(chain.law, chain, 6)
        draw_cells(chain.law, chain)
    found = worlds_of_chains([chain.cells.worlds])
    kept = {f"worlds_{name}": array for name, array in found._asdict().items()} | margins_kept(margins)
    settings = {"score": {"standardise": False}, "data": {"columns": [{"sd": 1.0}] * 3}}
    return SimpleNamespace(nodes=("a", "b", "c"), settings=settings, **kept)


def draws_of(z, gaps, seed):
    return ScoreDraws(worlds_of(record_of(z, gaps, seed), 1), LABELS)


def true_effect(graph, drawn, noise, cause, effect):
    """The total effect in deviations, from the covariance matrix of the model."""
    total = np.linalg.inv(np.eye(3) - np.where(graph, drawn, 0.0))
    deviations = np.sqrt(np.diag(total.T @ np.diag(noise) @ total))
    return total[cause, effect] * deviations[cause] / deviations[effect]


def rows_after(rng, graph, drawn, intercepts, noise, node, level, rows=20_000):
    """Simulate rows in which a node has the numbers of those rows that have a level by themselves."""
    seen = table_given(rng, graph, drawn, intercepts, noise, rows)
    numbers = seen[classes_of(seen)[:, node] == level, node]
    if not numbers.size:
        return None
    z = np.zeros((rows, 3))
    order = np.argsort((graph.astype(int) @ graph + graph).sum(axis=0), kind="stable")
    for j in order:
        z[:, j] = intercepts[j] + z @ np.where(graph[:, j], drawn[:, j], 0.0) + rng.normal(size=rows) * noise[j] ** 0.5
        if j == node:
            z[:, j] = rng.choice(numbers, rows)
    return z


ASKED = {
    "c on a": lambda draws: draws.effects_of(2)[:, 0],
    "a on b": lambda draws: draws.effects_of(0)[:, 1],
    "b on c": lambda draws: draws.effects_of(1)[:, 2],
    "b if a is high": lambda draws: draws.set_nodes({"a": "high"}, "b")[0][:, 1],
    "c if b is yes": lambda draws: draws.set_nodes({"b": "yes"}, "c")[0][:, 0],
}


def truth_of(rng, *parameters):
    graph, drawn, _, noise = parameters
    after = [rows_after(rng, *parameters, *which) for which in ((0, 2), (1, 1))]
    return {
        "c on a": true_effect(graph, drawn, noise, 2, 0),
        "a on b": true_effect(graph, drawn, noise, 0, 1),
        "b on c": true_effect(graph, drawn, noise, 1, 2),
        "b if a is high": None if after[0] is None else (after[0][:, 1] > CUTS[1][0]).mean(),
        "c if b is yes": None if after[1] is None else after[1][:, 2].mean(),
    }


def place_of(rng, drawn, truth):
    """Where the truth stands among draws, a number between 0 and 1."""
    chosen = drawn[:: len(drawn) // KEPT][:KEPT]
    below, equal = (chosen < truth).sum(), np.isclose(chosen, truth, rtol=1e-12, atol=1e-12).sum()
    return (below + rng.integers(equal + 1)) / (KEPT + 1) + rng.random() / (KEPT + 1)


def repeated(sets, seed, twin):
    """Places of the truth for tables from the prior, a fifth of whose cells is empty; and what a twin says."""
    rng, found = np.random.default_rng(seed), []
    for one in range(sets):
        graph = GRAPHS[rng.choice(len(GRAPHS), p=WEIGHTS)]
        parameters = graph, *prior_parameters(rng, graph)
        z, gaps = table_given(rng, *parameters, ROWS), gaps_of(rng, ROWS)
        if any(np.ptp(classes_of(z)[~gaps[:, j], j]) == 0 for j in (0, 1)):
            continue
        draws, truth, line = draws_of(z, gaps, one), truth_of(rng, *parameters), {}
        for name, ask in ASKED.items():
            if truth[name] is not None:
                line[name] = place_of(rng, ask(draws), truth[name])
                line[f"{name}, twin"] = place_of(rng, ask(twin(draws)), truth[name])
        found.append(line)
    return pd.DataFrame(found)


def parameters_at_their_means(draws):
    worlds = draws.worlds
    return replace(draws, worlds=replace(worlds, drawn=worlds.means, intercepts=worlds.mean_intercepts))


NUMBERS_ASKED = {
    "c on a": lambda draws: draws.effects_of(2)[:, 0],
    "a on b": lambda draws: draws.effects_of(0)[:, 1],
    "b if a is 1": lambda draws: draws.set_nodes(np.array([True, False, False]), np.array([1.0, 0.0, 0.0]))[0][:, 1],
}


def repeated_numbers(sets, seed):
    """The same of numbers alone, in their units: the posterior, and with parameters at their means."""
    rng, found, line = np.random.default_rng(seed), [], (margin_of_line(0.0, 1.0),) * 3
    for one in range(sets):
        graph = GRAPHS[rng.choice(len(GRAPHS), p=WEIGHTS)]
        drawn, intercepts, noise = prior_parameters(rng, graph)
        z, gaps = table_given(rng, graph, drawn, intercepts, noise, ROWS), gaps_of(rng, ROWS)
        total = np.linalg.inv(np.eye(3) - np.where(graph, drawn, 0.0))
        cut = graph & (np.arange(3) != 0)
        after = (np.append(1.0, intercepts[1:])) @ np.linalg.inv(np.eye(3) - np.where(cut, drawn, 0.0))
        truth = {"c on a": total[2, 0], "a on b": total[0, 1], "b if a is 1": after[1]}
        nodes = [plain_number(z[:, j], gaps[:, j], 0.0, 1.0) for j in range(3)]
        draws = world_draws(record_of(z, gaps, one, nodes, line), 1)
        worlds = replace(draws.worlds, drawn=draws.means[0], intercepts=draws.worlds.mean_intercepts)
        twin = replace(draws, drawn=draws.means[0], worlds=worlds)
        asked = NUMBERS_ASKED.items()
        places = {name: place_of(rng, ask(draws), truth[name]) for name, ask in asked}
        found.append(places | {f"{name}, means": place_of(rng, ask(twin), truth[name]) for name, ask in asked})
    return pd.DataFrame(found)


@pytest.mark.slow
def test_intervals_cover_what_they_say_of_numbers_with_empty_cells():
    found = repeated_numbers(SETS, 7)
    for name in NUMBERS_ASKED:
        assert p_value(found[name]) > 1e-3, name
    assert min(p_value(found[f"{name}, means"]) for name in NUMBERS_ASKED) < 1e-5


def p_value(places):
    places = places.dropna()
    inside = int(((places > 0.05) & (places < 0.95)).sum())
    return min(stats.binomtest(inside, len(places), 0.9).pvalue, stats.kstest(places, "uniform").pvalue)


@pytest.mark.slow
def test_intervals_cover_what_they_say_where_cells_are_drawn():
    found = repeated(SETS, 5, twin=parameters_at_their_means)
    for name in ASKED:
        assert p_value(found[name]) > 1e-3, name
    assert min(p_value(found[f"{name}, twin"]) for name in ASKED) < 1e-5


# --- from normal numbers to columns -----------------------------------------------------------------------------------


LONGER = {**SHORT, "thin": 200}
"""So that each chain draws its cells forty times."""


@pytest.fixture(scope="module")
def mixed():
    return parnidag.sample(patients(), **LONGER)


def draws_kept(posterior):
    from parnidag.effects.normal import score_draws

    return score_draws(posterior.record, 3)


def simulated(draws, world, settings, rows=200_000):
    """Simulate the columns of the model in one world; `settings` has rows of numbers for those that are set."""
    worlds, rng = draws.worlds, np.random.default_rng(world)
    laid, z = worlds.laid, np.zeros((rows, worlds.noise.shape[1]))
    for j in laid.order[world]:
        slots = slice(*laid.first[world, j : j + 2])
        z[:, j] = worlds.intercepts[world, j] + z[:, laid.parents[slots]] @ worlds.drawn[slots]
        z[:, j] += math.sqrt(worlds.noise[world, j]) * rng.normal(size=rows)
        if j in settings:
            z[:, j] = settings[j]
    return z


def in_the_table(draws, z):
    """What simulated numbers are on average in the table, quantity by quantity."""
    found = []
    for node, margin in enumerate(draws.worlds.margins):
        here = z[:, draws.columns_of(node)]
        if margin.kind == NUMBERS:
            inside = np.isfinite(margin.scores)
            found.append(np.interp(here[:, 0], margin.scores[inside], margin.values[inside]).mean())
        elif margin.kind == LEVELS:
            found += np.bincount(np.searchsorted(margin.scores[:-1], here[:, 0]), minlength=margin.scores.size).tolist()
            found[-margin.scores.size :] = [count / len(z) for count in found[-margin.scores.size :]]
        else:  # the least squares of who is what on the contrasts
            known = np.repeat(margin.vectors, np.round(margin.scores * 1e4).astype(int), axis=0)
            who = np.repeat(np.eye(len(margin.vectors)), np.round(margin.scores * 1e4).astype(int), axis=0)
            weights = np.linalg.lstsq(np.column_stack([np.ones(len(known)), known]), who, rcond=None)[0]
            shares = np.maximum(weights[0] + here.mean(axis=0) @ weights[1:], 0.0)
            found += (shares / shares.sum()).tolist()
    return np.array(found)


@pytest.mark.parametrize("do", [{}, {"stage": "iii"}, {"ill": True, "age": 0.7}, {"site": "south"}, {"dose": -1.5}])
def test_outcomes_are_those_of_simulated_rows(mixed, do):
    draws = draws_kept(mixed)
    expected = mixed.contrast(do=do, versus={}) if not do else mixed.intervene(do)
    levels = expected.levels
    found = draws.set_nodes(draws.checked(do, "do", True))[0]
    assert found.shape[1] == len(levels)
    for world in (0, 17):
        settings = {}
        for name, value in do.items():
            node = draws.names.index(name)
            margin, here = draws.worlds.margins[node], draws.columns_of(node)
            if margin.kind == NUMBERS:
                settings[here.start] = setting_of(margin, value).low[0]
            elif margin.kind == LEVELS:
                level = draws.labels[node].index(str(value))
                free = simulated(draws, world, {})[:, here.start]
                numbers = free[np.searchsorted(margin.scores[:-1], free) == level]
                settings[here.start] = np.random.default_rng(1).choice(numbers, 200_000)
            else:
                vector = margin.vectors[draws.labels[node].index(value)]
                settings |= dict(zip(range(here.start, here.stop), vector, strict=True))
        truth = in_the_table(draws, simulated(draws, world, settings))
        np.testing.assert_allclose(found[world], truth, atol=0.006)


def test_what_a_curve_is_on_average_has_a_closed_form():
    rng = np.random.default_rng(1)
    values = np.concatenate([np.zeros(60), np.exp(rng.normal(size=140))])  # a third of the rows has one value
    column, known = ranked(values), np.unique(values)
    margin = margin_of_numbers(column, known, column.shares > 0.05)
    mean, deviation = np.array([[[0.3]], [[-1.1]]]), np.array([[0.8], [0.1]])
    found = expected_of(margin, mean, deviation)[:, 0]
    inside = np.isfinite(margin.scores)
    for k in range(2):
        z = mean[k, 0] + deviation[k] * stats.norm.ppf((np.arange(400_000) + 0.5) / 400_000)
        assert found[k] == pytest.approx(np.interp(z, margin.scores[inside], margin.values[inside]).mean(), abs=1e-4)
    setting = setting_of(margin, 0.0)
    assert (setting.low[0], setting.high[0]) == (-np.inf, column.high[0])
    point = setting_of(margin, float(known[70]))
    assert point.low == point.high == pytest.approx(column.scores[70], abs=0.06)


def test_numbers_between_bounds_are_those_of_the_cut_law():
    bounds = [(-np.inf, -1.0), (0.5, 0.8), (4.0, np.inf), (-np.inf, np.inf), (45.0, np.inf), (90.0, np.inf)]
    for low, high in bounds:
        setting = setting_of(Margin(LEVELS, np.array([low, high, np.inf]), np.arange(3.0)), 1.0)
        strata, one = drawn_between(np.array([0.2]), np.array([1.5]), setting, np.array([0.3]))
        law = stats.truncnorm((low - 0.2) / 1.5, (high - 0.2) / 1.5, 0.2, 1.5)
        assert strata.mean() == pytest.approx(law.mean() if low < 90 else 90.0, rel=1e-6, abs=1e-9)
        assert low <= one[0] <= high
        assert (np.diff(strata[0]) >= 0).all()


def test_nodes_that_do_not_follow_differ_by_nothing(mixed):
    """Whether there is a path is told to the last bit, for levels, numbers and blocks."""
    table = mixed.contrast(do={"stage": "iii"}, versus={"stage": "i"}).summary()
    graph = draws_kept(mixed).graphs
    adjacency = np.zeros((graph.index.size, 5, 5), bool)
    worlds = np.repeat(np.arange(graph.index.size), graph.edges)
    adjacency[worlds, graph.laid.parents, graph.children] = True
    reach = adjacency.copy()
    for _ in range(3):
        reach |= (reach.astype(int) @ adjacency.astype(int)) > 0
    share = 1 - reach[:, 1].mean(axis=0)
    for name, j in (("age", 0), ("ill", 2), ("site", 3), ("dose", 4)):
        np.testing.assert_allclose(table[table["node"] == name]["zero"], share[j])
        assert mixed.effects().summary("stage", name)["zero"].iloc[0] == pytest.approx(share[j])


def test_probabilities_of_a_node_add_up_and_without_intervention_are_those_of_the_data():
    table = patients(400, share=0.0)
    posterior = parnidag.sample(table, **SHORT)
    free = posterior.contrast(do={"age": 0.0}, versus={}).summary()
    sums = free[free["level"] != ""].groupby("node")["mean"].sum()
    np.testing.assert_allclose(sums, 0.0, atol=1e-9)
    draws = draws_kept(posterior)
    found = pd.Series(draws.set_nodes({})[0].mean(axis=0), pd.MultiIndex.from_arrays(draws.quantities))
    for name in ("stage", "ill", "site"):
        shares = table[name].astype(str).value_counts(normalize=True)
        for level, share in shares.items():
            assert found[name, level] == pytest.approx(share, abs=0.03), (name, level)
    assert found["dose", ""] == pytest.approx(table["dose"].mean(), abs=0.15)


def test_between_scores_of_numbers_effects_are_those_of_bge_on_the_scores(tmp_path):
    values = parnidag.simulate(nodes=4, edges=4, rows=150, seed=2).values
    table = np.column_stack([np.exp(values[:, 0]), values[:, 1] ** 3, values[:, 2:]])
    options = {"draws": 4000, "seed": 1}
    posterior = parnidag.exact(table, score=scores.Copula(alpha_w=8.0), **options)
    plain = parnidag.exact(normal_scores(table), score=scores.BGe(alpha_w=8.0, standardise=False), **options)
    one, other = (each.effects().summary().set_index(["cause", "effect"]) for each in (posterior, plain))
    other = other.loc[one.index]
    np.testing.assert_allclose(one["zero"], other["zero"])
    np.testing.assert_allclose(one["mean"], other["mean"], atol=0.05)  # in deviations of the law, not of the rows
    # What X1 is in a new row, brought back to its scores.
    margin = margins_of(posterior.record)[0]
    curve = posterior.intervene({"X0": 2.0})
    scored = plain.intervene({"X0": float(np.interp(2.0, margin.values, margin.scores))})
    back = margins_of(posterior.record)[1]
    rows = np.interp(curve.draws("X1", rows=True).ravel(), back.values, back.scores)
    single = np.clip(scored.draws("X1", rows=True).ravel(), back.scores[0], back.scores[-1])
    assert rows.mean() == pytest.approx(single.mean(), abs=4 * single.std() / math.sqrt(2000))
    assert rows.std() == pytest.approx(single.std(), rel=0.06)
    posterior.save(tmp_path / "scores.nc")
    asked = {"do": {"X0": 2.0}, "versus": {"X0": 1.0}}
    again = parnidag.load(tmp_path / "scores.nc").contrast(**asked).summary()
    pd.testing.assert_frame_equal(again, posterior.contrast(**asked).summary())
    assert posterior.summary()["coefficient"].notna().any()


# --- as users meet it -------------------------------------------------------------------------------------------------


def test_effects_of_mixed_tables_are_in_deviations(mixed):
    found = mixed.effects()
    assert "standard deviations of normal scores" in repr(found)
    table = found.summary()
    assert set(table[table["effect"] == "site"]["level"]) == {"south", "west"}
    assert set(table[table["cause"] == "site"]["versus"]) == {"north"}
    assert (table[table["cause"] == "age"]["set_to"] == "").all()
    assert found.mean.loc[("age", ""), ("stage", "")] == pytest.approx(found.draws("age", "stage").mean())
    assert table["graphs"].isna().all()
    strongest = found.summary("age", "stage").iloc[0]
    assert strongest["mean"] != 0
    with pytest.raises(ParnidagError, match=r"no constant effect.*intervene"):
        mixed.effects(standardised=False)
    with pytest.raises(ParnidagError, match="all known"):
        found.given_graph(np.zeros((5, 5)))
    edges = mixed.coefficients()
    assert set(edges["parent"]) <= set(mixed.nodes)
    assert (edges["probability"] >= 0.01).all()
    assert len(found.disagreement("age", "dose")) > 0


def test_direct_effects_are_what_a_parent_does_if_all_others_stay(mixed):
    from parnidag.effects.direct import direct_effects

    draws = draws_kept(mixed)
    worlds, seen = draws.worlds, 0
    for i, j, values in direct_effects(draws):
        cause, effect = int(draws.places.node[i]), int(draws.places.node[j])
        fixed = np.ones(worlds.noise.shape[1], bool)
        fixed[draws.columns_of(effect)] = False
        change = np.zeros(worlds.noise.shape)
        change[:, draws.columns_of(cause)] = draws.change_of(i)
        response = worlds.follow(worlds.drawn, np.zeros(change.shape), fixed, change)
        expected = draws.in_places(effect, response[:, draws.columns_of(effect)])
        expected = expected[:, np.flatnonzero(draws.places.node == effect).tolist().index(j)]
        np.testing.assert_allclose(values, expected[expected != 0], atol=1e-12)
        seen += 1
    assert seen > 20


def test_questions_on_the_scale_of_columns(mixed):
    outcomes = mixed.intervene({"stage": "iii"})
    table = outcomes.summary()
    assert "stage" not in set(table["node"])
    assert outcomes.draws("site", level="west").shape == mixed.record.worlds_ends.shape[:2]
    assert set(np.unique(outcomes.draws("ill", rows=True))) <= {0.0, 1.0}
    assert table[table["node"] == "site"]["mean"].sum() == pytest.approx(1.0)
    curve = mixed.dose_response("age", "ill")
    assert curve.effect == "ill = True"
    assert ((curve.expected >= 0) & (curve.expected <= 1)).all()
    assert mixed.dose_response("age", "site", [0.0], level="north").effect == "site = north"
    assert "nearest value" in repr(mixed.intervene({"age": 90.0}))
    for wrong, message in (
        (lambda: mixed.intervene({"stage": "iv"}), "levels i, ii, iii"),
        (lambda: mixed.intervene({"age": "old"}), "number"),
        (lambda: mixed.dose_response("stage", "age"), "numbers"),
        (lambda: mixed.dose_response("age", "dose", level="i"), "classes"),
    ):
        with pytest.raises(ParnidagError, match=message):
            wrong()


def test_effects_have_the_same_bits_everywhere(mixed, with_gap, tmp_path):
    usual = mixed.effects().summary()
    with ProcessPoolExecutor(1) as pool:
        other = parnidag.sample(patients(), **LONGER, executor=pool)
    pd.testing.assert_frame_equal(other.effects().summary(), usual)
    kept = tmp_path / "run.ckpt"
    parnidag.sample(patients(), **{**LONGER, "draws": 15}, checkpoint=kept)
    longer = parnidag.sample(patients(), **LONGER, checkpoint=kept, output=tmp_path / "run.nc")
    pd.testing.assert_frame_equal(longer.effects().summary(), usual)
    pd.testing.assert_frame_equal(parnidag.load(tmp_path / "run.nc").effects().summary(), usual)
    with_gap.save(tmp_path / "gap.nc")
    pd.testing.assert_frame_equal(
        parnidag.load(tmp_path / "gap.nc").intervene({"X0": 1.0}).summary(), with_gap.intervene({"X0": 1.0}).summary()
    )


def test_plots_and_report_take_mixed_tables(mixed):
    from parnidag.report.effects import effect_facts

    ax = plots.effects(mixed)
    assert "normal scores" in ax.get_xlabel()
    assert any("site = " in label.get_text() for label in ax.get_yticklabels())
    plots.effect_matrix(mixed)
    assert plots.dose_response(mixed, "age", "ill").get_ylabel() == "probability of ill = True"
    facts = effect_facts(mixed)
    assert facts["scores"]
    assert any("instead of north" in row[-1] for row in facts["rows"])
    assert mixed.suggest_experiments(about=("age", "dose")).shape[0] == 5
    assert mixed.summary()["coefficient"].notna().any()


def test_mixed_tables_on_the_command_line(mixed, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    saved = str(mixed.save(tmp_path / "p.nc"))
    asked = (["--cause", "site", "-o", "out.csv"], ["--do", "stage=iii"], ["--do", "ill=True", "--versus", "ill=False"])
    said = []
    for arguments in (*asked, ["--do", "age=90"]):
        assert cli.run(["effects", saved, *arguments]) == 0
        said.append(capsys.readouterr().out)
        rows = [line for line in said[-1].splitlines() if not line.startswith(("Total", "Note"))]
        assert max(map(len, rows)) <= 80
    assert "standard deviations of normal scores" in said[0]
    assert set(pd.read_csv("out.csv")["set_to"]) == {"south", "west"}
    assert "north" in said[1]
    assert "the means and probabilities differ by" in said[2]
    assert "nearest value" in said[3]
    assert cli.run(["effects", saved, "--do", "stage=9"]) == 2
    assert "levels i, ii, iii" in one_line_error(capsys.readouterr())


def test_results_that_keep_no_worlds_say_so(mixed):
    without = replace(mixed.record, worlds_ends=None, worlds_codes=None, worlds_numbers=None)
    with pytest.raises(ParnidagError, match="keeps no parameters"):
        Posterior(without).effects()
    assert Posterior(without).summary()["coefficient"].isna().all()


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("worlds_ends", lambda ends: ends[:, ::-1]),
        ("worlds_codes", lambda codes: codes[:-1]),
        ("margins_kind", lambda kinds: kinds + 3),
        ("margins_scores", lambda scores: scores[1:]),
    ],
)
def test_damaged_worlds_are_refused(mixed, name, changed):
    with pytest.raises(ParnidagError, match="contradicts itself"):
        replace(mixed.record, **{name: np.ascontiguousarray(changed(getattr(mixed.record, name)))})


def test_edges_that_lead_nowhere_or_in_circles_are_refused(mixed):
    codes = mixed.record.worlds_codes
    for wrong in (np.full_like(codes, 10_000), np.zeros_like(codes), np.resize([1, 6], codes.size).astype(np.int32)):
        with pytest.raises(ParnidagError, match="contradict themselves"):
            Posterior(replace(mixed.record, worlds_codes=wrong)).effects()


# --- what chains keep -------------------------------------------------------------------------------------------------


def world(number, size=3):
    return np.full(size, number, np.int32), np.full(2 * size, float(number))


def test_worlds_stay_evenly_spaced_and_chains_meet_in_the_widest():
    chains = []
    for draws in (300, 700):
        own = make_worlds(6)
        note_world(own, lambda: world(99))
        forget_worlds(own)
        for number in range(draws):
            note_world(own, lambda number=number: world(number, 1 + number % 3))
        chains.append(own)
    assert [own.counts[2] for own in chains] == [150, 175]
    found = worlds_of_chains(chains)
    assert found.ends.shape == (2, 75, 2)
    firsts = found.codes[np.concatenate([[0], found.ends.reshape(-1, 2)[:-1, 0]])].reshape(2, 75)
    np.testing.assert_array_equal(firsts, np.tile(np.arange(75) * 4, (2, 1)))
    np.testing.assert_array_equal(np.diff(found.ends.reshape(-1, 2)[:, 0]), 1 + firsts.ravel()[1:] % 3)
    np.testing.assert_array_equal(found.numbers, np.repeat(found.codes, 2))


def test_worlds_that_are_too_large_are_not_kept():
    own = make_worlds(2**14)  # room for 16 of them
    for number in range(40):
        note_world(own, lambda number=number: world(number, 2**13))
    assert own.counts.tolist() == [40, 4, 10]
    assert own.codes[own.ends[8, 0]] == 36
    note_world(own, lambda: world(1, 2**13))
    for _ in range(5):
        note_world(own, lambda: None)
    assert worlds_of_chains([own]) is None
