"""Series and panels: the past of each row, what the model makes of it, and that all methods agree on it."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from panels import looked_up, shifted, simulated, with_gaps

import parnidag
from parnidag import Data, EdgePrior, MoreLagsWarning, Panel, ParnidagError, samplers, scores
from parnidag.data.autocorrelation import SURE
from parnidag.results.prior_marginals import drawn_marginals, prior_marginals
from parnidag.scores.normal_scores import normal_scores
from parnidag.target import Target

NOW, EDGES = ["a", "b"], [(i, j) for j in (0, 1) for i in range(4) if i != j]


def panel(**options: Any) -> Panel:
    return Panel(simulated(), time="week", unit="unit", **options)


# ── the past of each row ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("lags", [1, 2, 3])
def test_past_is_that_of_a_loop_over_all_rows(lags: int) -> None:
    table = with_gaps(simulated())
    made, naive = Panel(table, time="week", unit="unit", lags=lags), looked_up(table, NOW, lags)
    assert made.names == tuple(naive.columns)
    np.testing.assert_array_equal(made.values, naive.to_numpy())
    assert made.n_rows + made.first_rows + made.gap_rows == len(table)
    np.testing.assert_array_equal(made.values[:, :2], table[NOW].to_numpy()[made.rows])


def test_twin_that_shifts_units_into_one_another_fails() -> None:
    table = with_gaps(simulated())
    naive, twin = looked_up(table, NOW, 1), shifted(table, NOW, 1)
    assert len(twin) > len(naive)
    assert not set(map(tuple, twin.to_numpy())) <= set(map(tuple, naive.to_numpy()))


def test_forms_of_a_table_are_the_same_panel(tmp_path: Any) -> None:
    table = simulated()
    path = tmp_path / "panel.csv"
    table.to_csv(path, index=False)
    array = table[NOW].to_numpy().reshape(6, 20, 2)
    wide = pd.concat(
        [table[table["week"] == week][NOW].add_suffix(f".{week}").reset_index() for week in range(20)], axis=1
    )
    wide = wide.drop(columns="index")
    expected = panel()
    dates = table.assign(week=pd.to_datetime("2024-01-01") + pd.to_timedelta(7 * table["week"], "D"))
    months = table.assign(week=[f"{2000 + week // 12}-{1 + week % 12:02}-15" for week in table["week"]])
    given: list[tuple[Any, dict[str, Any]]] = [
        (path, {"time": "week", "unit": "unit"}),
        (pl.DataFrame(table), {"time": "week", "unit": "unit"}),
        (dates.sample(frac=1.0, random_state=1), {"time": "week", "unit": "unit"}),
        (months.iloc[::-1], {"time": "week", "unit": "unit"}),
        (table.drop(columns="week"), {"unit": "unit"}),
        (array, {"names": NOW}),
    ]
    for one, options in given:
        np.testing.assert_allclose(Panel(one, **options).values, expected.values, rtol=1e-12)
    side_by_side = Panel.from_wide(wide.set_axis([name.split(".")[0] + name[1:] for name in wide], axis=1), 20)
    np.testing.assert_array_equal(side_by_side.values, expected.values)
    suffixed = wide.set_axis([name.replace(".0", "") for name in wide], axis=1)
    with pytest.raises(ParnidagError, match=r"slices=10: a and a\.1 would be two variables, and look like one"):
        Panel.from_wide(suffixed, 10)
    named = Panel.from_wide(wide, {name: [f"{name}.{week}" for week in range(20)] for name in NOW})
    assert named.names == expected.names
    np.testing.assert_array_equal(named.values, expected.values)


def test_one_series_without_times_or_units() -> None:
    table = simulated(units=1)[NOW]
    made = Panel(table, lags=2)
    np.testing.assert_array_equal(made.values[:, 4:], table.to_numpy()[:-2])
    assert (made.units, made.first_rows, made.gap_rows) == (1, 2, 0)


def test_gaps_in_arrays_and_missing_cells() -> None:
    array = simulated()[NOW].to_numpy().reshape(6, 20, 2).copy()
    array[2, 7] = np.nan  # nothing was seen: a gap
    assert Panel(array, names=NOW).gap_rows == 1
    array[3, 9, 0] = np.nan  # a cell is missing: in its row, and in the past of the next
    with pytest.raises(ParnidagError, match=r"a \(1\), a\[t-1\] \(1\)"):
        Panel(array, names=NOW, missing="refuse")
    dropped = Panel(array, names=NOW)
    assert dropped.dropped_rows == 2
    seen = array.reshape(-1, 2)
    seen = seen[~np.isnan(seen).all(axis=1)]
    np.testing.assert_array_equal(dropped.values[:, :2], seen[dropped.rows])


def test_interventions_are_on_the_present() -> None:
    table = simulated().assign(set="")
    table.loc[[25, 44, 60], "set"] = "a"  # 60 begins a series, and so is no row of the panel
    made = Panel(table, time="week", unit="unit", interventions="set")
    assert made.set_rows().tolist() == [2, 0, 0, 0]
    assert set(made.rows[made.intervened[:, 0]]) == {25, 44}  # type: ignore[index]


def test_classes_keep_their_levels() -> None:
    table = simulated().assign(a=lambda one: np.where(one["a"] > 0, "high", "low"), b=lambda one: one["b"] > 0)
    made = Panel(table, time="week", unit="unit")
    assert made.kind == "discrete"
    assert made.discrete().labels == (("high", "low"), ("False", "True")) * 2


def test_static_words_of_two_levels_are_numbers_beside_numbers() -> None:
    table = simulated().assign(sex=lambda one: np.where(one["unit"].isin(["u1", "u4"]), "f", "m"))
    made = Panel(table, time="week", unit="unit", static=["sex"])
    assert (made.kind, made.names[-1]) == ("continuous", "sex")
    assert set(made.values[:, -1]) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time": "weak"}, "time='weak' is not a column; did you mean 'week'"),
        ({"lags": 0}, "lags must be"),
        ({"static": "a"}, "must be a list of columns"),
        ({"static": ["a"]}, "a changes within a unit"),
        ({"unit": None}, "there are two rows at week 0.*say which column tells whose they are: unit="),
        ({"within": "no"}, "within must be one of"),
        ({"missing": "impute"}, "missing must be one of"),
        ({"lags": 25}, "0 rows of 120 with 25 steps of its series before it"),
        ({"static": ["unit"]}, "words among numbers: unit"),
    ],
)
def test_mistakes_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParnidagError, match=message):
        Panel(simulated(), **{"time": "week", "unit": "unit", **options})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (lambda one: one.assign(week=one["week"].where(one["week"] != 3, np.inf)), "empty or infinite in 6 rows"),
        (lambda one: one.assign(week=one["week"] > 3), "must hold numbers or dates, got truth values"),
        (lambda one: one.assign(week=[f"week {k}" for k in one["week"]]), "must hold numbers or dates such as"),
        (lambda one: one.rename(columns={"b": "a[t-1]"}), r"a\[t-1\]: so the past of another column is called"),
        (
            lambda one: one.assign(c=one["unit"].str[1:].astype(int)),
            r"c: the same at all times of a unit.*static=\['c'\]",
        ),
        (lambda one: one.assign(c=one["a"] > 0), "words among numbers: c"),
        (lambda one: one.iloc[:0], "it has no rows"),
    ],
)
def test_tables_that_cannot_be_panels_say_why(changed: Any, message: str) -> None:
    with pytest.raises(ParnidagError, match=message):
        Panel(changed(simulated()), time="week", unit="unit")


@pytest.mark.parametrize(
    ("table", "slices", "options", "message"),
    [
        (["s", "x1", "x2", "y1", "y2"], 2, {}, "x1, x2 look like one variable at all times"),
        (["s", "x1", "y1", "x2", "y2"], 2, {"static": ["z"]}, "'z' is not a column"),
        (["s", "x1", "y1", "x2", "y2"], 2, {"time": "x1"}, "time= and unit= are for tables with a row for each time"),
        (["s", "x1", "y1", "x2", "y2"], {"x": "x1"}, {}, "x needs a list of columns"),
        (["s", "x1", "y1", "x2", "y2"], {"x": ["x1", "x2"], "y": ["x1", "y2"]}, {}, "x1 would be two values"),
    ],
)
def test_mistakes_in_wide_tables_are_named(table: Any, slices: Any, options: dict[str, Any], message: str) -> None:
    wide = pd.DataFrame(np.random.default_rng(1).normal(size=(9, 5)), columns=table)
    with pytest.raises(ParnidagError, match=message):
        Panel.from_wide(wide, slices, **{"static": ["s"], **options})


def test_arrays_that_say_when_and_whose_need_no_columns_for_it() -> None:
    array = simulated()[NOW].to_numpy().reshape(6, 20, 2)
    np.testing.assert_array_equal(Panel(array.tolist()).values, panel().values)
    with pytest.raises(ParnidagError, match="an array unit × time × variable needs neither"):
        Panel(array, time="week")
    side_by_side = np.random.default_rng(1).normal(size=(9, 4))
    assert Panel.from_wide(side_by_side, 2, names=["x1", "y1", "x2", "y2"]).variables == ("x1", "y1")


def test_columns_that_are_numbered_are_named_by_their_numbers() -> None:
    table = simulated().assign(sex=lambda one: one["unit"].str[1:].astype(int) % 2).set_axis(range(5), axis=1)
    made = Panel(table, time=1, unit=0, static=[4])  # type: ignore[arg-type, list-item]
    assert made.names == ("2", "3", "2[t-1]", "3[t-1]", "4")


def test_numbers_with_decimal_commas_are_no_classes() -> None:
    table = simulated()
    written = table.assign(**{name: [f"{value:.6f}".replace(".", ",") for value in table[name]] for name in NOW})
    np.testing.assert_allclose(Panel(written, time="week", unit="unit").values, panel().values, atol=1e-6)


def days(one: pd.DataFrame) -> pd.Series[Any]:
    return pd.Timestamp("2024-03-20") + pd.to_timedelta(one["week"], "D")


@pytest.mark.parametrize(
    ("times", "step"),
    [
        (lambda one: pd.to_timedelta(6 * one["week"], "h"), "6 hours"),
        (lambda one: [pd.Period("2024-01-01 00:00", "h") + int(week) for week in one["week"]], "1 hour"),
        (lambda one: [pd.Period("2001Q1", "Q") + int(week) for week in one["week"]], "3 months"),
        (lambda one: days(one).dt.tz_localize("Europe/Paris"), "1 day"),  # on the 31st a day has 23 hours
        (lambda one: [day.isoformat() for day in days(one).dt.tz_localize("Europe/Paris")], "1 day"),
        (lambda one: [f"{day:%Y-%m-%dT%H:%M:%SZ}" for day in days(one)], "1 day"),
        (lambda one: [f"2024-01-01 00:00:{week:02}.500" for week in one["week"]], "1 second"),
        (lambda one: [f"{week / 2}" for week in one["week"]], "0.5"),
        (lambda one: 1_700_000_000_000_000_000 + one["week"], "1"),  # as a float all would be one time
    ],
)
def test_times_of_all_types(times: Any, step: str) -> None:
    table = simulated()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = Panel(table.assign(week=times(table)), time="week", unit="unit")
    np.testing.assert_array_equal(made.values, panel().values)
    assert ("in steps of " + step in made.in_words()) == (step != "1")


def test_times_that_are_finer_than_meant_are_doubted() -> None:
    table = simulated()
    kept = table[(table["week"] % 2 == 0) | ((table["unit"] == "u0") & (table["week"] < 5))]
    doubts = Panel(kept, time="week", unit="unit").doubts()
    assert doubts[0].startswith("52 of 56 rows that have others of their series before them follow a gap")
    assert not any("follow a gap" in line for line in panel().doubts())


def test_doubled_rows_and_uneven_times_are_named() -> None:
    table = simulated()
    with pytest.raises(ParnidagError, match="unit u0 has two rows at week 3"):
        Panel(pd.concat([table, table.iloc[[3]]]), time="week", unit="unit")
    uneven = table.assign(week=table["week"] + 0.3 * (table["week"] % 3))
    with pytest.raises(ParnidagError, match="no even steps"):
        Panel(uneven, time="week", unit="unit")


# ── the model ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def target_of(data: Data, score: Any = None, prior: EdgePrior | None = None) -> Target:
    return Target.build(data, score or scores.BGe(), prior or EdgePrior())


def enumerated(target: Target, lags: int = 1) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], float]:
    """All graphs over two variables and their past that are possible, and how probable each is."""
    graphs = []
    for bits in itertools.product([False, True], repeat=len(EDGES)):
        graph = np.zeros((target.n_nodes,) * 2, np.bool_)
        for bit, edge in zip(bits, EDGES, strict=True):
            graph[edge] = bit
        status = target.problem.status
        allowed = not (graph & (status == 0)).any() and graph[status == 2].all()
        if allowed and not (graph[0, 1] and graph[1, 0]) and graph.sum(axis=0).max() <= target.max_parents:
            graphs.append(graph)
    logs = np.array([target.log_posterior(graph) for graph in graphs])
    total = float(np.logaddexp.reduce(logs))
    return np.array(graphs), np.exp(logs - total), total


def test_score_is_that_of_the_hand_built_table_without_what_the_past_scores_itself() -> None:
    made = panel()
    plain = Data(looked_up(simulated(), NOW, 1))
    for score in (scores.BGe(), scores.Gaussian(), scores.Spline()):
        own, whole = target_of(made, score), target_of(plain, score)
        past = sum(whole.local(j, []) for j in (2, 3))
        for graph in enumerated(own)[0]:
            assert own.log_posterior(graph) == pytest.approx(whole.log_posterior(graph) - past, abs=1e-9)


def test_equivalent_graphs_score_the_same_given_the_same_past() -> None:
    target = target_of(panel())
    graph = np.zeros((4, 4), np.bool_)
    graph[2, :2] = graph[3, :2] = True
    one, other = graph.copy(), graph.copy()
    one[0, 1] = other[1, 0] = True
    assert target.log_posterior(one) == pytest.approx(target.log_posterior(other), abs=1e-9)
    one[2, 1] = other[2, 1] = False  # now a[t-1] → a → b is no longer a[t-1] → a ← b
    assert abs(target.log_posterior(one) - target.log_posterior(other)) > 0.01


@pytest.mark.parametrize(
    "score", [scores.BGe(), scores.BGe(alpha_w="learn"), scores.Spline(), scores.Gaussian(g="learn")]
)
def test_exact_is_enumeration(score: Any) -> None:
    made = panel()
    result = parnidag.exact(made, score=score, draws=2000, seed=1)
    target = target_of(made, score)
    levels = range(1 if target.levels is None else target.levels.count)
    parts = [enumerated(target.at(level)) for level in levels]
    weights = np.exp(np.array([total for _, _, total in parts]) - result.log_evidence)
    expected = sum(w * np.tensordot(p, graphs, axes=1) for w, (graphs, p, _) in zip(weights, parts, strict=True))
    assert weights.sum() == pytest.approx(1.0, abs=1e-4 if len(parts) > 1 else 1e-9)
    np.testing.assert_allclose(result.edge_probabilities, expected, atol=1e-4 if len(parts) > 1 else 1e-9)
    error = np.sqrt(expected * (1 - expected) / 2000)
    assert (np.abs(result.graphs[0].mean(axis=0) - expected) <= 5 * error + 1e-4).all()


@pytest.mark.parametrize(
    ("options", "prior"),
    [
        ({"within": "none"}, EdgePrior()),
        ({"autoregression": "required"}, EdgePrior(max_parents=2)),
        ({"autoregression": "forbidden"}, EdgePrior(tiers=[["b"], ["a"]])),
        ({}, EdgePrior(max_parents=1, required=[("a[t-1]", "b")], log_odds={("b[t-1]", "a"): 1.0})),
    ],
)
def test_restrictions(options: dict[str, Any], prior: EdgePrior) -> None:
    made = panel(**options)
    target = target_of(made, prior=prior)
    graphs, chances, _ = enumerated(target)
    result = parnidag.exact(made, score=scores.BGe(), prior=prior)
    np.testing.assert_allclose(result.edge_probabilities, np.tensordot(chances, graphs, axes=1), atol=1e-9)
    assert (result.edge_probabilities.to_numpy()[:, 2:] == 0).all()


def test_what_contradicts_the_past_is_refused() -> None:
    with pytest.raises(ParnidagError, match=r"the data rule out a → a\[t-1\]"):
        target_of(panel(), prior=EdgePrior(required=[("a", "a[t-1]")]))
    with pytest.raises(ParnidagError, match=r"the data require a\[t-1\] → a"):
        target_of(panel(autoregression="required"), prior=EdgePrior(forbidden=[("a[t-1]", "a")]))


@pytest.mark.parametrize(
    "sampler",
    [samplers.PARNI(), samplers.ADR(), samplers.MC3(), samplers.PartitionMCMC(), samplers.Tempered()],
    ids=lambda one: one.name,
)
def test_chains_agree_with_enumeration(sampler: Any) -> None:
    made = panel()
    graphs, chances, _ = enumerated(target_of(made))
    options = {} if sampler.name == "Tempered" else {"thin": 20}
    result = parnidag.sample(
        made, score=scores.BGe(), sampler=sampler, draws=1000, chains=2, seed=3, progress=False, **options
    )
    expected = np.tensordot(chances, graphs, axes=1)
    table = result.summary(0.0)
    error = np.zeros((4, 4))
    place = {name: k for k, name in enumerate(made.names)}
    for row in table.itertuples():
        error[place[row.parent], place[row.child]] = 0.0 if pd.isna(row.mcse) else row.mcse
    assert (np.abs(result.edge_probabilities - expected) <= 5 * error + 1e-3).all().all()
    assert not result.graphs[..., 2:].any()


def test_orders_are_those_of_the_present() -> None:
    """The law of orders counts each graph by the orders of its scored nodes: twice without an edge between the two."""
    made = panel()
    graphs, chances, _ = enumerated(target_of(made))
    weights = chances * np.where(graphs[:, 0, 1] | graphs[:, 1, 0], 1.0, 2.0)
    expected = np.tensordot(weights / weights.sum(), graphs, axes=1)
    result = parnidag.sample(
        made, score=scores.BGe(), sampler=samplers.OrderMCMC(), draws=1000, chains=2, thin=20, seed=3, progress=False
    )
    found = result.edge_probabilities.to_numpy()
    error = np.sqrt(expected * (1 - expected) / 2000)
    assert (np.abs(found - expected) <= 6 * error + 1e-3).all()
    twin = np.tensordot(chances, graphs, axes=1)  # the posterior itself is another law
    assert (np.abs(found - twin) > 6 * error + 1e-3).any()


def test_prior_marginals_of_the_past_need_no_sum() -> None:
    target = target_of(panel())
    problem = target.problem
    found = prior_marginals(problem.log_odds, problem.status, target.max_parents)
    graphs, _, _ = enumerated(target)
    weights = np.exp((graphs * problem.log_odds).sum(axis=(1, 2)))
    np.testing.assert_allclose(found, np.tensordot(weights / weights.sum(), graphs, axes=1), atol=1e-12)
    drawn = drawn_marginals(problem.log_odds, problem.status, target.max_parents)
    np.testing.assert_allclose(drawn, found, atol=0.02)


def test_folded_sets_are_the_whole_sum() -> None:
    """Three scored nodes of six, with a bound on parents: the sum over all sets of six nodes gives the same."""
    table = pd.DataFrame(np.random.default_rng(5).normal(size=(60, 3)), columns=["a", "b", "c"]).cumsum()
    made = Panel(table)
    plain = Data(pd.DataFrame(made.values, columns=made.names))
    into_past = [(i, j) for i in range(6) for j in range(3, 6) if i != j]
    for most in (2, None):
        folded = parnidag.exact(made, score=scores.BGe(), prior=EdgePrior(max_parents=most), draws=4000, seed=1)
        whole = parnidag.exact(plain, score=scores.BGe(), prior=EdgePrior(max_parents=most, forbidden=into_past))
        np.testing.assert_allclose(folded.edge_probabilities, whole.edge_probabilities, atol=1e-9)
        error = np.sqrt(whole.edge_probabilities * (1 - whole.edge_probabilities) / 4000)
        assert (np.abs(folded.graphs[0].mean(axis=0) - whole.edge_probabilities) <= 5 * error + 1e-9).all().all()


def test_ranks_of_static_columns_may_be_shared() -> None:
    """Parents have no score of their own; of what has one, few values may be the same."""
    table = simulated().assign(sex=lambda one: one["unit"].str[1:].astype(int) % 2)
    made = Panel(table, time="week", unit="unit", static=["sex"])
    own = target_of(made, scores.Copula(alpha_w=12.0))
    by_hand = target_of(Data(normal_scores(made.values)), scores.BGe(alpha_w=12.0, standardise=False))
    for node, parents in ((0, []), (0, [2, 4]), (1, [0, 3, 4])):
        assert own.local(node, parents) == pytest.approx(by_hand.local(node, parents), abs=1e-9)
    tied = Panel(table.assign(a=lambda one: one["a"].round()), time="week", unit="unit", static=["sex"])
    with pytest.raises(ParnidagError, match="tied values under Copula"):
        parnidag.exact(tied, score=scores.Copula())


def test_first_times_have_a_table_of_their_own() -> None:
    table = simulated().assign(sex=lambda one: one["unit"].str[1:].astype(int) % 2)
    made = Panel(table, time="week", unit="unit", static=["sex"])
    first = made.initial()
    np.testing.assert_array_equal(first.values[:, :2], table[table["week"] == 0][NOW])
    assert first.names == ("a", "b", "sex")
    assert (parnidag.exact(first).edge_probabilities["sex"] == 0).all()


# ── are there lags enough? ────────────────────────────────────────────────────────────────────────────────────────────


def two_lags(seed: int, second: float) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    series = np.zeros((5, 60, 3))
    for time in range(2, 60):
        series[:, time] = 0.4 * series[:, time - 1] + second * series[:, time - 2] + rng.normal(size=(5, 3))
    return series[:, 10:]


def test_too_few_lags_are_said_and_enough_are_not() -> None:
    with pytest.warns(MoreLagsWarning, match="try lags=2"):
        made = Panel(two_lags(1, 0.4))
    assert made.describe()["panel"]["autocorrelated"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Panel(two_lags(1, 0.4), lags=2)


def test_rate_of_false_alarms() -> None:
    """Within five standard deviations of what is promised, for all variables together."""
    runs, alarms = 400, 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(runs):
            alarms += bool(Panel(two_lags(seed, 0.0)).describe()["panel"]["autocorrelated"])
    assert alarms <= runs * SURE + 5 * np.sqrt(runs * SURE)
