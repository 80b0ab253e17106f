"""The law of draws by rank, over all their decisions as `transitions.py` has them, against weights and weighing draws.

Run as ``NUMBA_DISABLE_JIT=1 python tests/transitions_ranked.py``; prints figures as JSON, broken twins included, which
`test_ranked.py` judges.
"""

import itertools
import json
import math

import numpy as np
import reference
import reference_spaces
from reference_moves import distance
from transitions import DECISIONS, G, install
from transitions_regroup import law_of

from parnidag.data import Data
from parnidag.priors.edge_prior import EdgePrior
from parnidag.scores import Gaussian
from parnidag.tables import sums
from parnidag.tables.arrays import draw_arrays, open_tables
from parnidag.tables.build import build_tables
from parnidag.target import Target

RANKED = {
    "free": EdgePrior(h="paper"),
    "constrained": EdgePrior(h="paper", required=[(0, 1), (2, 3)], forbidden=[(4, 1)], max_parents=3),
    "one parent": EdgePrior(h="paper", max_parents=1),
    "a hopeless parent": EdgePrior(h="paper", log_odds={(1, 2): -800.0}),
}


def unranked(arrays):
    """Subsets as they come: the first one that is too large ends the draw."""
    return arrays._replace(ranked=np.concatenate([np.arange(1 << k) for k in arrays.candidate_count]))


def all_weighed(arrays):
    """Sums over all candidates, where some are barred."""
    return arrays._replace(log_alone=np.repeat(arrays.log_alone[arrays.first_row[1:] - 1], np.diff(arrays.first_row)))


def law_of_parents(tables, arrays, j, level):
    opened, family = open_tables(arrays, draw_arrays(tables.arrays)), np.zeros(len(level), np.int32)

    def once():
        score = sums.draw_parents(opened, None, np.int64(j), level, 1, False)
        count = sums.write_parents(opened, j, opened.drawn_subset, opened.drawn_column, family)
        return frozenset(family[:count].tolist()), float(score)

    return law_of(once)


def compare_ranked(prior, change, n=5):
    """Draw by rank and by weighing, with every set of barred nodes, and compare with the weights."""
    target = Target.build(Data(reference.small_values(n)), Gaussian(g=G), prior)
    tables = build_tables(target, ~np.eye(n, dtype=bool), plus_one=False)
    by_rank, by_weight = change(tables.arrays), tables.arrays._replace(ranked=np.zeros(0, np.int32))
    found = {"weights": 0.0, "weighing": 0.0, "questions": 0}
    for j, barred in itertools.product(range(n), itertools.product((0, 1), repeat=n)):
        sets = reference_spaces.permitted(reference_spaces.stored_sets(tables.arrays, j), barred, 1)
        whole = reference_spaces.log_total(sets.values())
        if whole > -math.inf:
            law = law_of_parents(tables, by_rank, j, np.array(barred))
            weights = {(family, score): math.exp(score - whole) for family, score in sets.items()}
            found["weights"] = max(found["weights"], float(distance(law, weights)))
            weighed = law_of_parents(tables, by_weight, j, np.array(barred))
            found["weighing"] = max(found["weighing"], float(distance(law, weighed)))
            found["questions"] += 1
    return found


def ranked_and_twins():
    changes = {"ranked": lambda arrays: arrays, "unranked": unranked, "all weighed": all_weighed}
    return {
        f"{name}, {prior}": compare_ranked(RANKED[prior], change)
        for name, change in changes.items()
        for prior in RANKED
    }


if __name__ == "__main__":
    install(DECISIONS)
    print(json.dumps(ranked_and_twins()))
