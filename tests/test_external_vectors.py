"""Figures that others have published, and scores that other libraries compute, as facts that ours must meet."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import parnidag
from parnidag import EdgePrior, scores
from parnidag.target import Target

FOLDER = Path(os.environ.get("PARNIDAG_DATA", "nowhere"))
PROTEINS = FOLDER / "sachs-interventional.csv"
"""5400 cells in three classes, and INT, the number from 1 on of the node that was set (0: none); bnlearn's site has it
as sachs.interventional.txt."""

AVERAGED = {
    "Raf": ["PKC"],
    "PIP3": ["Plcg", "PKC"],
    "PKA": ["PKC"],
    "Mek": ["Raf", "PKA", "PKC"],
    "PIP2": ["Plcg", "PIP3"],
    "Erk": ["PKA"],
    "Akt": ["Raf", "Mek", "Erk", "PKA"],
    "Jnk": ["Mek", "PKA", "PKC"],
    "P38": ["PKA", "PKC", "Jnk"],
}
"""Parents of each node: the 20 arcs that bnlearn finds with `mbde`, averaged over searches, at a strength of 0.85."""


@pytest.mark.skipif(not PROTEINS.exists(), reason="needs PARNIDAG_DATA, a folder with sachs-interventional.csv")
def test_arcs_of_interventional_protein_data_are_near_certain():
    table = pd.read_csv(PROTEINS)
    names = [name for name in table.columns if name != "INT"]
    mask = table["INT"].to_numpy()[:, None] == np.arange(1, len(names) + 1)
    data = parnidag.Data(table[names].astype(str), kind="discrete", interventions=mask)
    found = parnidag.exact(data, score=scores.BDeu(ess=1)).edge_probabilities
    probabilities = {(parent, child): found.loc[parent, child] for child, ps in AVERAGED.items() for parent in ps}
    assert len(probabilities) == 20
    assert min(probabilities.values()) > 0.98
    more = {(parent, child) for parent in names for child in names if found.loc[parent, child] > 0.98}
    assert len(more - set(probabilities)) == 6
    unaware = parnidag.exact(parnidag.Data(table[names].astype(str), kind="discrete"), score=scores.BDeu(ess=1))
    assert min(unaware.edge_probabilities.loc[edge] for edge in probabilities) < 0.9, "who ignores what was set is told"


@pytest.mark.parametrize("ess", [1.0, 10.0])
def test_bdeu_is_that_of_pgmpy(ess):
    """Differences between sets of parents, since ours leaves out what all graphs share."""
    structure_score = pytest.importorskip("pgmpy.structure_score")
    rng = np.random.default_rng(5)
    values = rng.integers(0, [2, 3, 2, 4], (60, 4))
    values[:, 3] = (values[:, 0] + 2 * values[:, 2] + (rng.random(60) < 0.2)) % 4
    names = list("abcd")
    table = pd.DataFrame(values, columns=names).astype("category")
    theirs = structure_score.BDeu(table, equivalent_sample_size=ess)
    target = Target.build(parnidag.Data(values, names=names, kind="discrete"), scores.BDeu(ess=ess), EdgePrior(h=0.5))
    for child in range(4):
        others = [i for i in range(4) if i != child]
        sets = [(), (others[0],), tuple(others[1:]), tuple(others)]
        offsets = np.cumsum([0, *map(len, sets)])
        ours = target.local_scores(child, offsets, np.array([i for one in sets for i in one], np.int64))
        expected = [theirs.local_score(names[child], tuple(names[i] for i in one)) for one in sets]
        np.testing.assert_allclose(np.diff(ours), np.diff(expected), atol=1e-8)
