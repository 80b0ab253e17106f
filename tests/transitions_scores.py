"""Exact transition matrices of ADR (and PARNI) under every score, as `transitions.py` has them for one.

Run as ``NUMBA_DISABLE_JIT=1 python tests/transitions_scores.py``; prints figures as JSON for
`test_scores_sampling.py`. The posterior comes from the sum of local scores over enumerated graphs; the scores
themselves are tested elsewhere.
"""

import json

import dags
import numpy as np
from score_cases import SCORES, data_for, values_for
from transitions import (
    DECISIONS,
    deviations,
    frozen_parni,
    install,
    parni_steps,
    single_edge_steps,
    total_variation,
    transition_matrix,
)

from parnidag import scores
from parnidag.data import Data
from parnidag.kernels.by_address import NO_FUNCTION
from parnidag.moves import single_edge
from parnidag.priors.edge_prior import EdgePrior
from parnidag.target import Target

MASK = np.zeros((25, 3), bool)
MASK[:4, 1] = True


def price(node, parents):
    return -0.7 * len(parents) + 0.3 * node


CASES = {
    **{name: (data_for(name, values_for(name, 3)), score) for name, score in SCORES.items()},
    "PythonScore": (Data(values_for("", 3)), scores.PythonScore(price)),
    "BGe, interventions": (Data(values_for("", 3), interventions=MASK), scores.BGe(standardise=False)),
}


def figures(data, score):
    target = Target.build(data, score, EdgePrior(h=0.4))
    graphs = dags.all_dags(3)
    log_weights = np.array([target.log_posterior(graph) for graph in graphs])
    weights = np.exp(log_weights - log_weights.max())
    posterior = weights / weights.sum()
    matrices = {"ADR": transition_matrix(target, graphs, single_edge_steps(single_edge.adr_move))}
    if target.problem.table.function != NO_FUNCTION:  # by its address, which is what could go wrong in a larger kernel
        matrices["PARNI"] = transition_matrix(target, graphs, parni_steps, frozen_parni(target, "gibbs", 0.6))
    return {
        name: {**deviations(matrix, posterior), "total_variation": float(total_variation(matrix, posterior))}
        for name, matrix in matrices.items()
    }


if __name__ == "__main__":
    install(DECISIONS)
    print(json.dumps({name: figures(*case) for name, case in CASES.items()}))
