"""Total effects: posterior means, spreads and calibration against enumeration, closed forms and simulation."""

import itertools
import math

import numpy as np
import pytest
from dags import all_dags
from scipy import stats

import parnidag
from parnidag import Data, scores
from parnidag.effects import draws as effect_draws
from parnidag.effects import totals
from parnidag.results.posterior import Posterior

LINEAR = {
    "gaussian": scores.Gaussian(g=3.0),
    "gprior": scores.GPrior(g=5.0),
    "bge": scores.BGe(alpha_w=7.5, alpha_mu=2.0),
    "raw bge": scores.BGe(alpha_w=9.0, standardise=False),
}
GRAPH = np.array([[0, 1, 1, 0], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]], bool)
SCALE = np.array([1.0, 30.0, 0.2, 5.0])


def values_of(n, rows=14, seed=5):
    """Related columns; on scales of their own."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, n)) @ (np.eye(n) + 0.6 * np.triu(np.ones((n, n)), 1))


def law(score, values, node, parents):
    """Mean and covariance of a node's coefficients, in units of the columns, from textbook formulas on the rows."""
    n, rows = values.shape[1], len(values)
    raw = isinstance(score, scores.BGe) and not score.standardise
    unit = np.ones(n) if raw else values.std(axis=0, ddof=1)
    x = (values - (0.0 if raw else values.mean(axis=0))) / unit
    q = len(parents)
    if isinstance(score, scores.BGe):
        mean = x.mean(axis=0)
        t = score.alpha_mu * (score.alpha_w - n - 1) / (score.alpha_mu + 1)
        r = t * np.eye(n) + (x - mean).T @ (x - mean)
        r += rows * score.alpha_mu / (rows + score.alpha_mu) * np.outer(mean, mean)
        shape = (rows + score.alpha_w - n + q + 1) / 2
    else:
        r, shape = x.T @ x, rows / 2
        if isinstance(score, scores.Gaussian):
            r = r + np.diag([1 / score.g if k in parents else 0.0 for k in range(n)])
    precision = r[np.ix_(parents, parents)] * (1 + 1 / score.g if isinstance(score, scores.GPrior) else 1.0)
    cross = r[parents, node]
    mean = np.linalg.solve(precision, cross)
    noise = (r[node, node] - cross @ mean) / 2 / (shape - 1)
    ratio = unit[node] / unit[parents]
    return mean * ratio, noise * np.linalg.inv(precision) * np.outer(ratio, ratio)


def moments_of_effects(score, values, graph):
    """Posterior mean (I − E B)⁻¹ given a graph, and second moments, node by node: coefficients are independent."""
    n = len(graph)
    laws = {j: (np.flatnonzero(graph[:, j]), *law(score, values, j, np.flatnonzero(graph[:, j]))) for j in range(n)}
    expected = np.zeros((n, n))
    for j, (parents, mean, _) in laws.items():
        expected[parents, j] = mean
    second = np.zeros((n, n))
    for cause in range(n):
        products = np.zeros((n, n))
        done = []
        while len(done) < n:
            j = next(j for j in range(n) if j not in done and set(laws[j][0]) <= set(done))
            parents, mean, covariance = laws[j]
            one = 1.0 if j == cause else 0.0
            for k in done:  # the cause itself is reached by nothing
                products[j, k] = products[k, j] = products[k, cause] if one else mean @ products[parents, k]
            inner = products[np.ix_(parents, parents)]
            products[j, j] = one + (0.0 if one else ((covariance + np.outer(mean, mean)) * inner).sum())
            done.append(j)
        second[cause] = np.diagonal(products)
    return np.linalg.inv(np.eye(n) - expected), second


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("n", [3, 4])
def test_posterior_means_given_every_graph_are_exact(n, name):
    score, values = LINEAR[name], values_of(n) * SCALE[:n] ** (name != "raw bge")
    effects = parnidag.exact(values, score=score, draws=1, seed=1).effects()
    for graph in all_dags(n):
        expected, _ = moments_of_effects(score, values, graph)
        given = effects.given_graph(graph).to_numpy()
        assert np.allclose(given, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
        standard = values.std(axis=0, ddof=1)
        in_sd = totals.Effects(effects.linear, effects.source, True, standardised=True).given_graph(graph).to_numpy()
        assert np.allclose(in_sd, expected * standard[:, None] / standard, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("name", ["gaussian", "bge"])
def test_means_and_spreads_over_graphs_are_those_of_enumeration(name, n):
    score, values = LINEAR[name], values_of(n, rows=9)
    posterior = parnidag.exact(values, score=score, draws=8000, seed=2)
    effects = posterior.effects()
    graphs = {graph.tobytes(): graph for graph in all_dags(n)}
    logs = np.array([log_weight(values, score, graph) for graph in graphs.values()])
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    means, seconds = map(np.array, zip(*(moments_of_effects(score, values, g) for g in graphs.values()), strict=True))
    mean = np.tensordot(weights, means, 1)
    stat = effects._statistics
    off = ~np.eye(n, dtype=bool)
    assert (np.abs(stat["mean"] - mean)[off] < 5 * stat["mcse"][off]).all()
    between = np.tensordot(weights, means**2, 1) - mean**2
    within = np.tensordot(weights, seconds - means**2, 1)
    assert np.allclose(stat["between"][off], between[off], rtol=0.1)
    assert np.allclose(stat["within"][off], within[off], rtol=0.15)
    paths = posterior.path_probabilities.to_numpy()
    assert np.allclose(1 - stat["zero"][off], paths[off], atol=1e-12)


def log_weight(values, score, graph):
    from parnidag.priors.edge_prior import EdgePrior
    from parnidag.target import Target

    return Target.build(Data(values), score, EdgePrior()).log_posterior(graph)


@pytest.mark.parametrize("name", LINEAR)
def test_draws_given_a_graph_have_the_closed_mean_and_variance(name):
    score, values = LINEAR[name], values_of(4, rows=20)
    required = [(f"X{i}", f"X{j}") for i, j in np.argwhere(GRAPH)]
    forbidden = [(f"X{i}", f"X{j}") for i, j in np.argwhere(~GRAPH & ~np.eye(4, dtype=bool))]
    prior = parnidag.EdgePrior(required=required, forbidden=forbidden)
    effects = parnidag.exact(values, score=score, prior=prior, draws=20_000, seed=1).effects()
    mean, second = moments_of_effects(score, values, GRAPH)
    spread = np.sqrt(np.maximum(second - mean**2, 0))
    for i, j in np.argwhere((mean != 0) & ~np.eye(4, dtype=bool)):
        drawn = effects.draws(f"X{i}", f"X{j}")
        assert abs(drawn.mean() - mean[i, j]) < 5 * spread[i, j] / math.sqrt(drawn.size)
        assert abs(drawn.std() / spread[i, j] - 1) < 0.06
    assert (effects.draws("X3", "X0") == 0).all()


# ── the truth among the effects, with the true covariance ─────────────────────────────────────────────────────────────


def true_system(rng, n=5):
    order = rng.permutation(n)
    graph = np.zeros((n, n), bool)
    graph[np.ix_(order, order)] = np.triu(rng.random((n, n)) < 0.5, 1)
    coefficients = graph * rng.uniform(0.4, 1.5, (n, n)) * rng.choice([-1, 1], (n, n))
    total = np.linalg.inv(np.eye(n) - coefficients)
    return graph, total, total.T @ np.diag(rng.uniform(0.5, 2.0, n)) @ total


def data_of_covariance(covariance, rows=1000):
    """A table whose sums are those of the true law."""
    n = len(covariance)
    columns = np.stack([-np.ones(n), np.ones(n), np.zeros(n), np.zeros(n), np.ones(n)])
    sums = {
        "sums_targets": np.zeros((1, n), np.uint8),
        "sums_rows": np.array([rows]),
        "sums_gram": covariance[None] * (rows - 1),
        "sums_columns": columns[None],
    }
    return Data.from_sums([f"X{k}" for k in range(n)], sums)


def pattern_of(graph):
    """Skeleton and colliders: equal for equivalent DAGs."""
    triples = itertools.product(range(len(graph)), repeat=3)
    return (graph | graph.T).tobytes(), frozenset(
        (i, j, k) for i, j, k in triples if i < k and collides(graph, i, j, k)
    )


def collides(graph, i, j, k):
    return graph[i, j] and graph[k, j] and not (graph[i, k] or graph[k, i])


def test_true_effects_of_random_dags_come_back_and_members_of_the_class_agree_with_adjustment():
    """With the true covariance least squares give the true effects, and in a member of the class those of a regression.

    That is what IDA computes: on the cause and its parents in that member.
    """
    rng = np.random.default_rng(3)
    classes = {}
    for graph in all_dags(4):
        classes.setdefault(pattern_of(graph), []).append(graph)
    for _ in range(100):
        graph, total, covariance = true_system(rng, 4)
        effects = parnidag.exact(data_of_covariance(covariance), score=scores.BIC(), draws=1, seed=1).effects()
        members = classes[pattern_of(graph)]
        found = [effects.given_graph(member).to_numpy() for member in members]
        assert min(np.abs(one - total).max() for one in found) < 1e-10
        for member, one in zip(members, found, strict=True):
            x = int(rng.integers(4))
            parents = np.flatnonzero(member[:, x])
            adjust = [x, *parents]
            regressed = np.linalg.solve(covariance[np.ix_(adjust, adjust)], covariance[adjust])[0]
            regressed[parents] = 0.0  # what is before the cause does not follow from it
            assert np.allclose(one[x], regressed, atol=1e-10)


# ── calibration ───────────────────────────────────────────────────────────────────────────────────────────────────────

SETS, DRAWS, ROWS = 400, 100, 12
WEIGHTS = (4.5, 6.0, 14.0)
SET_TO = 1.5


def data_from_prior(rng, graphs, weights):
    """A graph, its parameters and rows from the model that BGe on raw columns stands for; and the true effects."""
    n = 3
    graph = graphs[rng.choice(len(graphs), p=weights)]
    alpha_w, alpha_mu = rng.choice(WEIGHTS), 1.0
    t = alpha_mu * (alpha_w - n - 1) / (alpha_mu + 1)
    coefficients, noise = np.zeros((n, n)), np.zeros(n)
    for j in range(n):
        parents = np.flatnonzero(graph[:, j])
        noise[j] = t / 2 / rng.gamma((alpha_w - n + len(parents) + 1) / 2)
        coefficients[parents, j] = rng.normal(size=len(parents)) * math.sqrt(noise[j] / t)
    total = np.linalg.inv(np.eye(n) - coefficients)
    root = np.sqrt(noise)[:, None] * total
    mean = rng.normal(size=n) @ root / math.sqrt(alpha_mu)
    new = mean + rng.normal(size=n) * np.sqrt(noise)  # what X0 is set to reaches those behind it
    for j in np.argsort((graph.astype(int) @ graph + graph).sum(axis=0)):
        new[j] = SET_TO if j == 0 else new[j] + (new - mean) @ coefficients[:, j]
    return mean + rng.normal(size=(ROWS, n)) @ root, total, new


@pytest.fixture(scope="module")
def repeated():
    """Posteriors of data from the prior, with the truth: the effect of one node on another."""
    rng = np.random.default_rng(11)
    graphs = all_dags(3)
    graphs = graphs[~graphs[:, 1, 0]]
    weights = np.full(len(graphs), 1.0 / len(graphs))
    score = scores.BGe(alpha_w=WEIGHTS, standardise=False)
    found = []
    for repeat in range(SETS):
        values, total, new = data_from_prior(rng, graphs, weights)
        prior = parnidag.EdgePrior(h=0.5, forbidden=[("X1", "X0")])
        posterior = parnidag.exact(values, score=score, prior=prior, draws=DRAWS, seed=repeat)
        found.append((posterior, posterior.effects(), total, new))
    return found


def positions(repeated, effect):
    """Where the truth stands among draws of the effect of X0 on X1: uniform if the posterior is right."""
    rng = np.random.default_rng(1)
    found = []
    for posterior, effects, total, _ in repeated:
        drawn = effect(posterior, effects)
        below, equal = (drawn < total[0, 1]).sum(), (drawn == total[0, 1]).sum()
        found.append((below + rng.integers(equal + 1)) / (DRAWS + 1) + rng.random() / (DRAWS + 1))
    return np.array(found)


def covered(found):
    """The p-value of the binomial test that 90 % intervals cover 90 %."""
    inside = int(((found > 0.05) & (found < 0.95)).sum())
    return stats.binomtest(inside, len(found), 0.9).pvalue


def test_intervals_cover_what_they_say(repeated):
    found = positions(repeated, lambda _, effects: effects.draws("X0", "X1").ravel())
    assert covered(found) > 1e-3
    assert stats.kstest(found, "uniform").pvalue > 1e-3


def test_probability_of_no_effect_is_calibrated(repeated):
    zero = np.array([effects._statistics["zero"][0, 1] for _, effects, *_ in repeated])
    truth = np.array([total[0, 1] == 0 for _, _, total, _ in repeated])
    z = (truth - zero).sum() / math.sqrt((zero * (1 - zero)).sum())
    assert abs(z) < 3.5


def without_parameters(posterior, effects):
    return effects.linear.mean_effects_of(0)[effects.linear.graphs.graph_of, 1]


def without_graphs(posterior, effects):
    best = effect_draws.one_graph(posterior.best.adjacency)
    repeat = effect_draws.DrawnGraphs(np.zeros((1, DRAWS), np.int64), best.laid)
    return effect_draws.linear_draws(effects.source, repeat, 1).effects_of(0)[:, 1]


def turned_round(posterior, effects):
    return effects.draws("X1", "X0").ravel()


@pytest.mark.parametrize("twin", [without_parameters, without_graphs, turned_round])
def test_broken_twins_are_noticed(repeated, twin):
    found = positions(repeated, twin)
    assert min(covered(found), stats.kstest(found, "uniform").pvalue) < 1e-4


def new_rows(repeated, node, rows):
    """Where a new row under an intervention stands among draws of it."""
    found = []
    for posterior, _, _, new in repeated[:250]:
        drawn = posterior.intervene({"X0": SET_TO}).draws(f"X{node}", rows=rows)
        found.append(((drawn < new[node]).sum() + 0.5) / (DRAWS + 1))
    return np.array(found)


@pytest.mark.parametrize("node", [1, 2])
def test_rows_after_an_intervention_are_calibrated(repeated, node):
    found = new_rows(repeated, node, True)
    assert covered(found) > 1e-3
    assert stats.kstest(found, "uniform").pvalue > 1e-3


def test_means_are_no_rows(repeated):
    assert covered(new_rows(repeated, 1, False)) < 1e-4


# ── what was kept ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_only_rows_in_which_a_node_was_not_set_inform_it():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(60, 3)) @ np.array([[1, 0.8, 0], [0, 1, 0.5], [0, 0, 1]])
    mask = np.zeros((60, 3), bool)
    mask[40:, 1] = True
    values[40:, 1] = rng.normal(5, 1, 20)
    data = Data(values, interventions=mask)
    effects = parnidag.exact(data, score=scores.BIC(), draws=1, seed=1).effects()
    chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], bool)
    first = np.polyfit(values[:40, 0], values[:40, 1], 1)[0]
    second = np.polyfit(values[:, 1], values[:, 2], 1)[0]
    found = effects.given_graph(chain).to_numpy()
    assert np.allclose([found[0, 1], found[1, 2], found[0, 2]], [first, second, first * second], atol=1e-10)


def test_saved_results_answer_the_same(tmp_path):
    data = parnidag.simulate(nodes=5, edges=5, rows=50, seed=1).values
    posterior = parnidag.sample(data, draws=50, seed=1, progress=False)
    again = parnidag.load(posterior.save(tmp_path / "p.nc"))
    assert again.effects().summary().equals(posterior.effects().summary())
    assert posterior.effects(seed=1).mean.equals(posterior.effects(seed=2).mean)  # means are exact given the graphs
    assert (posterior.effects(seed=3).draws("X0", "X1") != posterior.effects(seed=4).draws("X0", "X1")).any()


def test_named_scores_without_parameters_are_refused(monkeypatch):
    """A new score has a name before it has effects."""
    values = parnidag.simulate(nodes=3, edges=2, rows=50, seed=1).values
    posterior = parnidag.exact(values, score=scores.BIC(), draws=2, seed=1)
    monkeypatch.setattr("parnidag.scores.by_name.LINEAR", ())
    with pytest.raises(parnidag.ParnidagError, match="BIC has none that parnidag knows"):
        posterior.effects()


def test_results_without_sums_ask_for_the_table():
    data = parnidag.simulate(nodes=3, edges=2, rows=50, seed=1).values
    posterior = parnidag.sample(data, draws=50, seed=1, progress=False)
    kept = posterior.record
    fields = {name: getattr(kept, name) for name in kept.__dataclass_fields__ if not name.startswith("sums_")}
    old = Posterior(type(kept)(**fields))
    with pytest.raises(parnidag.ParnidagError, match="pass the table of the run as data="):
        old.effects()
    assert np.allclose(old.effects(data=data).mean, posterior.effects().mean, atol=1e-12)
    with pytest.raises(parnidag.ParnidagError, match="not the table of the run"):
        old.effects(data=data + np.linspace(0, 1, 50)[:, None])
    with pytest.raises(parnidag.ParnidagError, match="49 rows, the run had 50"):
        old.effects(data=data[1:])


def test_own_scores_are_refused():
    data = parnidag.simulate(nodes=3, edges=2, rows=50, seed=1).values
    own = scores.PythonScore(lambda node, parents: -float(len(parents)))
    posterior = parnidag.exact(data, score=own, draws=10, seed=1)
    with pytest.raises(parnidag.ParnidagError, match="PythonScore has none"):
        posterior.effects()


def test_tables_without_rows_are_those_of_the_rows():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(40, 4)) * [1, 1e-3, 1e5, 1] + [0, 5, -7, 1e3]
    mask = rng.random((40, 4)) < 0.1
    for data in (Data(values), Data(values, interventions=mask)):
        again = Data.from_sums(data.names, data.sums())
        assert again.n_rows == 40
        for (one, other), score in ((map(s.table, (data, again)), s) for s in (scores.BGe(), scores.Gaussian())):
            assert np.allclose(one.gram, other.gram, rtol=1e-10, atol=1e-10), score
            assert np.allclose(one.own, other.own, rtol=1e-10)
