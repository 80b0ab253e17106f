"""Chains that draw cells: the joint law of graph, parameters and cells is the one that is stated."""

import numpy as np
import pytest
from cells_model import (
    ALPHA_MU,
    ALPHA_W,
    CUTS,
    LOG_ODDS,
    ROWS,
    chain_of,
    classes_of,
    gaps_of,
    graph_of,
    prior_table,
    table_given,
    target_of,
)
from reference_cells import bge_log_likelihood, dags, sweep_twin
from scipy import stats

from parnidag import samplers
from parnidag.cells.columns import plain_number
from parnidag.cells.rescale import rescale_columns
from parnidag.cells.sweep import draw_column, find_residuals, list_members, sweep
from parnidag.kernels.random import random_state
from parnidag.samplers.levels import draw_cells
from parnidag.target import score_anew

GRAPHS = list(dags(3))
WEIGHTS = np.array([np.exp(LOG_ODDS * graph.sum()) for graph in GRAPHS])
WEIGHTS /= WEIGHTS.sum()
MC3 = samplers.MC3()
STEPS = 6
"""Of single edges between sweeps."""


def walk(chain, sweeps):
    for _ in range(sweeps):
        MC3.advance(chain.law, chain, STEPS)
        draw_cells(chain.law, chain)


# --- Geweke's joint-distribution test ---------------------------------------------------------------------------------


def figures(graph, z, astray=0.0):
    """Bounded figures of a graph and a table, and how many of the cells that were drawn contradict the data."""
    signs = np.sign(z)
    shares = [(classes_of(z)[:, 0] == k).mean() for k in range(2)] + [(classes_of(z)[:, 1] == 0).mean()]
    pairs = [(signs[:, a] * signs[:, b]).mean() ** 2 for a, b in ((0, 1), (0, 2), (1, 2))]
    small = [(np.abs(z[:, j]) < 0.5).mean() for j in range(3)]
    return np.array([*graph[~np.eye(3, dtype=bool)], *shares, *pairs, *small, *signs.mean(axis=0) ** 2, astray])


def from_prior(draws, seed):
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(GRAPHS), draws, p=WEIGHTS)
    return np.array([figures(GRAPHS[g], prior_table(rng, GRAPHS[g])) for g in chosen])


def redraw_data(chain, gaps, rng):
    """Draw a new table, and so new data, from the parameters that the chain has just drawn."""
    own, layout = chain.cells.arrays, chain.cells.cells.layout
    z = table_given(rng, graph_of(chain), own.drawn, own.intercepts, own.noise, ROWS)
    own.table[:] = z.T
    first, shift = layout.first_cell, 1
    for j, cuts in enumerate(CUTS):
        rows = layout.rows[first[j] : first[j + 1]]
        own.latent[first[j] : first[j + 1]] = z[rows, j]
        if cuts.size:
            bound = shift + np.searchsorted(cuts, z[rows, j])
            layout.bound[first[j] : first[j + 1]] = np.where(gaps[rows, j], 0, bound)
            shift += cuts.size + 1
    chain.cells.settle()
    chain.forget()
    score_anew(*chain.parts(chain.law)[:3])
    return z


def from_chain(draws, seed, twin=None):
    rng = np.random.default_rng(seed)
    gaps = gaps_of(rng)
    z = prior_table(rng, GRAPHS[0])
    chain, seen = chain_of(target_of(z, gaps), seed), classes_of(z)
    if twin is not None:
        twin(chain)
    found = []
    for _ in range(draws):
        walk(chain, 1)
        MC3.advance(chain.law, chain, STEPS)
        draw_cells(chain.law, chain)
        astray = (classes_of(chain.cells.arrays.table.T) != seen)[~gaps].mean()
        z = redraw_data(chain, gaps, rng)
        seen = classes_of(z)
        found.append(figures(graph_of(chain), z, astray))
    return np.array(found)


def largest_z(prior, chain, batches=40):
    """The largest difference of means in standard errors, those of the chain from means of batches."""
    length = len(chain) // batches * batches
    means = chain[:length].reshape(batches, -1, chain.shape[1]).mean(axis=1)
    errors = np.sqrt(prior.var(axis=0) / len(prior) + means.var(axis=0, ddof=1) / batches)
    return np.abs((means.mean(axis=0) - prior.mean(axis=0)) / np.maximum(errors, 1e-9)).max()


def wrong_degrees_of_freedom(chain):
    for table in chain.cells._by_column:
        table.coefficients[0, 2] += 3.0


def forgotten_sums(chain):
    completed = chain.cells
    completed.arrays.latent[:] = 8.0
    completed.settle()
    chain.forget()
    score_anew(*chain.parts(chain.law)[:3])

    def draw(value, parents, degree, rng):
        cells = completed.cells
        sweep(cells.layout, completed.arrays, completed._by_column[value], cells.prior(value), parents, degree, rng)

    completed.draw = draw


def no_bounds(chain):
    chain.cells.cells.layout.low[:] = -np.inf
    chain.cells.cells.layout.high[:] = np.inf


def with_prior(chain, **wrong):
    completed = chain.cells

    def draw(value, parents, degree, rng):
        cells = completed.cells
        prior = cells.prior(value)._replace(**wrong)
        sweep(cells.layout, completed.arrays, completed._by_column[value], prior, parents, degree, rng)
        completed._sum_up(False)

    completed.draw = draw


def no_intercepts(chain):
    with_prior(chain, alpha_mu=1e12)


def wrong_scales_of_columns(chain):
    with_prior(chain, alpha_w=ALPHA_W + 3.0)


def test_graph_parameters_and_cells_have_their_joint_law():
    assert largest_z(from_prior(6000, 1), from_chain(8000, 2)) < 4.2


@pytest.mark.parametrize("twin", [wrong_degrees_of_freedom, no_bounds, no_intercepts, wrong_scales_of_columns])
def test_twins_of_the_joint_law_are_found_out(twin):
    assert largest_z(from_prior(6000, 1), from_chain(4000, 2, twin)) > 6


# --- against the law itself -------------------------------------------------------------------------------------------


LOW = 5.0
"""Degrees of freedom so few that the empty cell matters."""


def number_target(z):
    """All columns are numbers, and the first cell of the last is empty."""
    gaps = np.zeros(z.shape, bool)
    gaps[0, 2] = True
    return target_of(z, gaps, alpha_w=LOW, nodes=[plain_number(z[:, j], gaps[:, j], 0.0, 1.0) for j in range(3)])


def exact_shares(z):
    """Probabilities of all graphs: the likelihood of each, integrated over the empty cell."""
    grid, tables = np.linspace(-15, 15, 301), z.copy()
    logs = np.zeros((len(GRAPHS), grid.size))
    for k, tables[0, 2] in enumerate(grid):
        logs[:, k] = [bge_log_likelihood(tables, graph, ALPHA_MU, LOW) for graph in GRAPHS]
    masses = np.exp(logs - logs.max()).sum(axis=1) * WEIGHTS
    return masses / masses.sum()


def shares_of(chain, sweeps, batches=40):
    """How often a chain was at each graph, in batches."""
    number = {graph.tobytes(): k for k, graph in enumerate(GRAPHS)}
    counts = np.zeros((batches, len(GRAPHS)))
    for sweep_number in range(sweeps):
        walk(chain, 1)
        counts[sweep_number * batches // sweeps, number[graph_of(chain).tobytes()]] += 1
    return counts / counts.sum(axis=1, keepdims=True)


def law_apart(twin=None, sweeps=8000):
    z = prior_table(np.random.default_rng(11), GRAPHS[-1], rows=4) * 1.5 + 2.0
    truth = exact_shares(z)
    chain = chain_of(number_target(z), 3)
    if twin is not None:
        twin(chain)
    shares = shares_of(chain, sweeps)
    errors = np.maximum(shares.std(axis=0, ddof=1), 0.01) / np.sqrt(len(shares))
    return np.abs((shares.mean(axis=0) - truth) / errors).max()


def test_graphs_have_their_posterior_with_the_cell_averaged_over():
    assert law_apart() < 4.2


@pytest.mark.parametrize("twin", [wrong_degrees_of_freedom, forgotten_sums])
def test_twins_of_the_posterior_are_found_out(twin):
    assert law_apart(twin, 4000) > 6


# --- against a slow twin ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [5, 12, 24])
def test_a_sweep_is_its_slow_twin(number):
    """The twin makes the same random numbers, so that cells agree to rounding."""
    rng = np.random.default_rng(4)
    graph, gaps = GRAPHS[number], gaps_of(rng)
    z = prior_table(rng, graph)
    chain = chain_of(target_of(z, gaps), 5, graph)
    completed, layout = chain.cells, chain.cells.cells.layout
    own, words = completed.arrays, random_state(9)
    completed.draw(0, chain.graph.parents, chain.graph.degree, words)
    drawn, intercepts, noise = own.drawn.copy(), own.intercepts.copy(), own.noise.copy()
    words[:] = random_state(9)
    alpha_mu = completed.cells.alpha_mu
    twin = chain_of(target_of(z, gaps), 5, graph).cells  # draws the same parameters first
    list_members(layout, twin.arrays, chain.graph.parents, chain.graph.degree)
    for c in range(3):
        draw_column(twin.arrays, twin._by_column[0], alpha_mu, c, words)
        find_residuals(twin.arrays, c)
    rescale_columns(layout, twin.arrays, twin.cells.prior(0), words)
    np.testing.assert_array_equal(twin.arrays.noise, noise)
    before = twin.arrays.table.T.copy()
    bounds = [
        [
            (layout.rows[cell], layout.low[layout.bound[cell]], layout.high[layout.bound[cell]])
            for cell in range(layout.first_cell[c], layout.first_cell[c + 1])
        ]
        for c in range(3)
    ]
    sweep_twin(before, bounds, graph, drawn, intercepts, noise, words)
    np.testing.assert_allclose(own.table.T, before, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(own.products, before.T @ before, rtol=1e-12)
    assert target_score(chain) == pytest.approx(
        bge_log_likelihood(before, graph, ALPHA_MU, ALPHA_W) + graph.sum() * LOG_ODDS
    )


def target_score(chain):
    chain.forget()
    score_anew(*chain.parts(chain.law)[:3])
    return chain.log_posterior


# --- calibration ------------------------------------------------------------------------------------------------------


def ranks(replications, twin=None, draws=15, seed=6):
    """Where the true number of edges, and a true empty cell, lie among draws of their posterior."""
    found = []
    for k in range(replications):
        rng = np.random.default_rng((seed, k))
        graph = GRAPHS[rng.choice(len(GRAPHS), p=WEIGHTS)]
        z, gaps = prior_table(rng, graph), gaps_of(rng)
        gaps[0, 2] = True
        chain = chain_of(target_of(z, gaps), k)
        if twin is not None:
            twin(chain)
        walk(chain, 60)
        edges, cells, sizes = [], [], []
        for _ in range(draws):
            walk(chain, 5)
            edges.append(graph_of(chain).sum() + rng.random())
            cells.append(chain.cells.arrays.table[2, 0])
            sizes.append(np.abs(chain.cells.arrays.table[2, 0]))
        truth = graph.sum() + rng.random(), z[0, 2], abs(z[0, 2])
        found.append([(np.array(drawn) < true).sum() for drawn, true in zip((edges, cells, sizes), truth, strict=True)])
    return np.array(found)


def smallest_p(found, draws=15):
    counts = [np.bincount(column // 2, minlength=(draws + 1) // 2) for column in found.T]
    return min(stats.chisquare(count).pvalue for count in counts)


def test_posteriors_of_graph_and_cells_are_calibrated():
    assert smallest_p(ranks(300)) > 1e-4


def test_a_twin_is_not_calibrated():
    assert smallest_p(ranks(150, forgotten_sums)) < 1e-6
