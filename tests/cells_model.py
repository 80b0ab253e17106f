"""A small model with cells that are not known, for tests of the law of its chains.

Three columns: an ordered class, yes or no, and a number; a fifth of the cells is empty. Its cuts are fixed, so data can
be drawn from exactly the law that chains assume.
"""

import numpy as np

from parnidag import samplers
from parnidag.cells.columns import ANYTHING, KNOWN, ColumnCells
from parnidag.cells.gaussian import GaussianCells
from parnidag.graphs.adjacency import arcs_of
from parnidag.kernels.dag import ABSENT
from parnidag.kernels.parameters import draw_parameters
from parnidag.kernels.problem import FREE, Problem, gaussian_table
from parnidag.kernels.random import random_state
from parnidag.kernels.score_cache import hash_words
from parnidag.kernels.types import int64
from parnidag.samplers.base import Prepared, new_chain
from parnidag.scores import BGe
from parnidag.scores.gaussian import bge_coefficients, bge_prior_scale
from parnidag.target import Target

CUTS = (np.array([-0.4, 0.5]), np.array([0.2]), np.array([]))
"""Where the classes of each column end; none for the number."""
ROWS, ALPHA_MU, ALPHA_W = 8, 1.5, 9.0
LOG_ODDS = -0.3


def classes_of(z):
    """The class of every cell (rows × columns); 0 in the column of numbers."""
    return np.stack([np.searchsorted(cuts, column) for cuts, column in zip(CUTS, z.T, strict=True)], axis=1)


def column_cells(z, gaps, j):
    cuts = CUTS[j]
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    known = KNOWN if cuts.size == 0 else 1 + np.searchsorted(cuts, z[:, j])
    low, high = (np.concatenate([[-np.inf], edges[:-1]]), np.concatenate([[np.inf], edges[1:]]))
    if cuts.size == 0:
        low, high = np.array([-np.inf]), np.array([np.inf])
    bound = np.where(gaps[:, j], ANYTHING, known)
    return ColumnCells(z[None, :, j].copy(), bound, low, high, np.zeros((0, 1)), gaps[:, j], np.zeros(0, np.int64))


def gaps_of(rng, rows=ROWS, share=0.2):
    return rng.random((rows, len(CUTS))) < share


def target_of(z, gaps, alpha_mu=ALPHA_MU, alpha_w=ALPHA_W, nodes=None):
    nodes = [column_cells(z, gaps, j) for j in range(z.shape[1])] if nodes is None else nodes
    n = len(nodes)
    cells = GaussianCells.of(nodes, alpha_mu, [alpha_w])
    log_odds = np.full((n, n), LOG_ODDS)
    np.fill_diagonal(log_odds, 0.0)
    status = np.where(np.eye(n, dtype=bool), 0, FREE).astype(np.uint8)
    problem = Problem(
        table=cells.begin(random_state(0)).tables[0],
        log_odds=log_odds,
        status=status,
        free=arcs_of(status == FREE),
        words=hash_words(n),
        max_parents=int64(n - 1),
    )
    return Target(tuple("abc"[:n]), problem, {}, BGe(alpha_mu, alpha_w), cells=cells)


def chain_of(target, seed, graph=None, key=0):
    completed = target.cells.begin(random_state(seed, key, 1))
    n = target.n_nodes
    chain = new_chain(target, np.zeros((n, n), bool) if graph is None else graph, seed, key, cells=completed)
    samplers.MC3().begin(chain.law, Prepared(), chain, 0)
    return chain


def graph_of(chain):
    return np.asarray(chain.graph.position != ABSENT)


def prior_parameters(rng, graph, alpha_mu=ALPHA_MU, alpha_w=ALPHA_W):
    """Draw coefficients, intercepts and variances of every node from their prior."""
    n = len(graph)
    factors = bge_coefficients(np.array([0.0]), n, alpha_mu, alpha_w)
    scale = bge_prior_scale(n, alpha_mu, alpha_w)
    table = gaussian_table(scale * np.eye(n)[None], np.full(n, scale), factors, np.zeros(n, np.int64))
    words = random_state(int(rng.integers(2**40)))
    drawn, noise = np.zeros((n, n)), np.zeros(n)
    draw_parameters(table, graph, words, np.zeros(n, np.int64), np.zeros((n + 2, n + 2)), drawn, noise)
    return drawn, rng.normal(size=n) * np.sqrt(noise / alpha_mu), noise


def prior_table(rng, graph, rows=ROWS, alpha_mu=ALPHA_MU, alpha_w=ALPHA_W):
    """Draw a table from the model: parameters of every node from their prior, then rows."""
    return table_given(rng, graph, *prior_parameters(rng, graph, alpha_mu, alpha_w), rows)


def table_given(rng, graph, drawn, intercepts, noise, rows):
    errors = intercepts + rng.normal(size=(rows, len(graph))) * np.sqrt(noise)
    return errors @ np.linalg.inv(np.eye(len(graph)) - np.where(graph, drawn, 0.0))
