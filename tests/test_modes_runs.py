"""Real chains in different modes, each of which looks stationary by itself; and real chains that mix."""

from __future__ import annotations

import numpy as np
import pandas as pd

import parnidag
from parnidag import samplers
from parnidag.cli.screens import in_option_words
from parnidag.results.convergence import edge_rhat, merge_rounding, rank_rhat

NODES = ("A", "B", "C", "D", "E")
TURNED = np.zeros((5, 5), bool)
TURNED[0, 1] = True
"""A → B; its transpose is B → A."""


def twins_and_others(seed=1, rows=200):
    """A and B nearly repeat one another; C, D and E, apart from them, hardly depend on each other."""
    noise = np.random.default_rng(seed).normal(size=(rows, 5))
    a, c, d = noise[:, 0], noise[:, 2], 0.2 * noise[:, 2] + noise[:, 3]
    columns = [a, a + 0.1 * noise[:, 1], c, d, 0.2 * d + noise[:, 4]]
    return pd.DataFrame(np.column_stack(columns), columns=list(NODES))


def run(sampler, **options):
    defaults = {"start": [TURNED, TURNED.T, TURNED.T, TURNED], "draws": 400, "thin": 1000, "seed": 1}
    return parnidag.sample(twins_and_others(), sampler=sampler, progress=False, **(defaults | options))


def test_real_chains_that_each_look_stationary_are_caught():
    """MC3 must delete A → B before it can add B → A, through graphs that are hopelessly unlikely."""
    posterior = run(samplers.MC3())
    record = posterior.record
    draws = merge_rounding(record.log_posterior)
    # Nothing weaker than a comparison of edges between chains would notice.
    assert rank_rhat(draws) < 1.01
    for chain in range(4):
        assert rank_rhat(draws[[chain]]) < 1.02
        assert np.nanmax(edge_rhat(record.batch_counts[[chain]], record.batch_iterations[[chain]])) < 1.02
    found = posterior.diagnostics()
    assert found.converged is False
    assert "2 separated modes (chains 1 and 4 | 2 and 3), at nodes A and B" in found.verdict
    (group,) = found.modes
    assert (group.nodes, group.kind, group.by_start) == (["A", "B"], "separated", True)
    assert {edge[:2]: edge[2] for edge in group.edges} == {("A", "B"): [1, 0, 0, 1], ("B", "A"): [0, 1, 1, 0]}
    assert max(group.log_posterior_gap) < 1.0
    assert any("both matter" in line for line in found.advice)
    assert any("--sampler parni or --sampler partition" in in_option_words(line) for line in found.advice)
    # C, D and E did change, and are not named
    assert (record.batch_counts.sum(axis=(0, 1)) > 0).sum() > 10
    assert not {"C", "D", "E"} & {node for mode in found.modes for node in mode.nodes}
    assert max(map(len, repr(found).splitlines())) <= 80


def test_what_is_known_of_starts_survives_the_disk(tmp_path):
    posterior = run(samplers.MC3(), draws=100)
    assert posterior.record.starts[1].tolist() == [5]
    again = parnidag.load(posterior.save(tmp_path / "apart.nc"))
    assert again.diagnostics().to_dict() == posterior.diagnostics().to_dict()
    assert again.diagnostics().modes[0].by_start is True


def test_a_real_mode_that_is_lower_is_called_local():
    """B → A and C → A with C, the common cause: a chain that starts there needs A → B and cannot get it."""
    noise = np.random.default_rng(2).normal(size=(300, 3))
    a, c = noise[:, 0], noise[:, 1]
    table = pd.DataFrame({"A": a, "B": a + c + 0.3 * noise[:, 2], "C": c})
    right, wrong = np.zeros((2, 3, 3), bool)
    right[0, 1] = right[2, 1] = True  # A → B ← C
    wrong[1, 0] = wrong[1, 2] = wrong[0, 2] = True  # B → A, B → C, A → C: one edge more
    posterior = parnidag.sample(
        table,
        sampler=samplers.MC3(),
        start=[right, wrong, right],
        chains=3,
        draws=400,
        thin=500,
        seed=1,
        progress=False,
    )
    found = posterior.diagnostics()
    assert found.chain_groups == [[0, 2], [1]]
    assert found.modes[0].log_posterior_gap[1] > 3
    assert any("chain 2 sits" in line and "local mode that it cannot leave" in line for line in found.advice)


def test_a_sampler_that_turns_edges_round_has_no_modes_there():
    found = run(samplers.ADR()).diagnostics()
    assert (found.converged, found.modes, found.chain_groups) == (True, [], [])
    assert found.advice == []


def test_mixing_chains_raise_no_alarm():
    """On small problems that ADR walks freely; 60 seeds of default length raised none either."""
    for seed in range(8):
        table = parnidag.simulate(nodes=5, edges=5, rows=100, seed=seed)
        posterior = parnidag.sample(table.values, sampler=samplers.ADR(), draws=100, seed=seed, progress=False)
        assert posterior.diagnostics().chain_groups == []
