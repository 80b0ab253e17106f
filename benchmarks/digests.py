"""Are results still the same, bit for bit? Digests of runs over all samplers, scores, executors and checkpoints.

python -m benchmarks.digests before.json              # on the code as it was
python -m benchmarks.digests after.json before.json   # on the code as it is: names every run that differs

A change that leaves all sums as they are, such as moving code about, must leave every digest. Digests depend on the
machine's arithmetic, so both files have to come from one machine. It takes one to three minutes; exit status 1 says
that some run differs, or is in one file only.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

import parnidag
from parnidag import EdgePrior, samplers, scores, space

SMALL = parnidag.simulate(nodes=8, edges=10, rows=150, seed=3)
LARGE = parnidag.simulate(nodes=25, edges=40, rows=200, seed=4)
CLASSES = np.digitize(SMALL.values, [-0.5, 0.7])
FEW = {"draws": 30, "thin": 100, "chains": 2, "seed": 11, "progress": False}
MOVES = ("exchange", "swap_parent", "node_swap", "edge_reversal", "regroup")
SOME = EdgePrior(h=0.2, forbidden=[(0, 1)], required=[(2, 3)], tiers=[[0, 1, 2], [3, 4]], max_parents=3)


def penalty(node, parents):
    """Return a score by a plain Python function."""
    return -1.5 * len(parents) + 0.01 * node + 0.2 * sum(parents) / 8


def compiled_penalty(node, parents, content):
    """Return a score that Numba compiles."""
    return content[0, 0] * len(parents) + content[1, 0] * node


def sampled(data=SMALL.values, **settings):
    """Return a run of the length that all have here."""
    return parnidag.sample(data, **{**FEW, **settings})


def set_by_hand():
    """Return the small table with one column set in some of its rows."""
    mask = np.zeros(SMALL.values.shape, bool)
    mask[:40, 2] = True
    return parnidag.Data(SMALL.values, interventions=mask)


def in_pieces():
    """Return the small table as batches of rows."""
    return parnidag.Data.from_batches([SMALL.values[:70], SMALL.values[70:]])


def resumed():
    """Return a run that was stopped after ten draws and went on from its checkpoint."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.ckpt"
        sampled(LARGE.values, checkpoint=path, draws=10, tune=500)
        return sampled(LARGE.values, checkpoint=path, tune=500)


def stored():
    """Return a run whose draws went to a file."""
    with tempfile.TemporaryDirectory() as folder:
        return sampled(output=Path(folder) / "run.nc")


def on_dask():
    """Return a run on a cluster of this machine."""
    from dask.distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        return sampled(executor=client)


def on_threads():
    """Return a run on an executor of the user's."""
    with ThreadPoolExecutor(2) as pool:
        return sampled(executor=pool)


def cases():
    """Return every run by name."""
    found = {
        "PARNI": sampled,
        "PARNI 25": lambda: sampled(LARGE.values),
        "PARNI printed": lambda: sampled(sampler=samplers.PARNI(kernel="printed", moves="paper")),
        "PARNI printed 25": lambda: sampled(LARGE.values, sampler=samplers.PARNI(kernel="printed", moves="paper")),
        "PARNI eta": lambda: sampled(sampler=samplers.PARNI(eta="paper", kappa=0.02, target_evaluations=5)),
        "PARNI always": lambda: sampled(LARGE.values, sampler=samplers.PARNI(adapt="always")),
        "interventions": lambda: sampled(set_by_hand()),
        "batches": lambda: sampled(in_pieces()),
        "prior": lambda: sampled(prior=SOME),
        "prior 25": lambda: sampled(LARGE.values, prior=EdgePrior(h=0.1, required=[(0, 1)], max_parents=4)),
        "empty": lambda: sampled(LARGE.values, start="empty"),
        "pc": lambda: sampled(LARGE.values, space=space.pc(LARGE.values)),
        "iterative": lambda: sampled(LARGE.values, space=space.iterative(LARGE.values, seed=2)),
        "given": lambda: sampled(LARGE.values, space=LARGE.adjacency, sampler=samplers.PartitionMCMC()),
        "python": lambda: sampled(score=scores.PythonScore(penalty)),
        "compiled": lambda: sampled(score=scores.Compiled(compiled_penalty, np.array([[-1.5], [0.01]]))),
        "compiled 25": lambda: sampled(
            LARGE.values, score=scores.Compiled(compiled_penalty, np.array([[-1.5], [0.01]]))
        ),
        "BDeu": lambda: sampled(CLASSES),
        "BDeu order": lambda: sampled(CLASSES, sampler=samplers.OrderMCMC()),
        "BDeu partition": lambda: sampled(CLASSES, sampler=samplers.PartitionMCMC()),
        "BDeu batches": lambda: sampled(parnidag.Data.from_batches([CLASSES[:70], CLASSES[70:]], kind="discrete")),
        "resumed": resumed,
        "output": stored,
        "threads": on_threads,
        "processes": lambda: sampled(executor=parnidag.processes(2)),
        "processes 25": lambda: sampled(LARGE.values, executor=parnidag.processes(2)),
        "dask": on_dask,
        "exact": lambda: parnidag.exact(SMALL.values, draws=50, seed=1),
        "exact prior": lambda: parnidag.exact(SMALL.values, prior=SOME, score=scores.BGe(), draws=50, seed=1),
        "exact BDeu": lambda: parnidag.exact(CLASSES),
    }
    for move in MOVES:
        weights = {"parni": 0.3, "adr": 0.3, move: 0.4}
        found[f"move {move}"] = lambda weights=weights: sampled(LARGE.values, sampler=samplers.PARNI(moves=weights))
    for name in ("ADR", "MC3", "REV", "OrderMCMC", "PartitionMCMC", "IterativeMCMC"):
        sampler = getattr(samplers, name)()
        found[name] = lambda sampler=sampler: sampled(sampler=sampler)
        found[f"{name} 25"] = lambda sampler=sampler: sampled(LARGE.values, sampler=sampler)
    for score in (scores.GPrior(), scores.BGe(), scores.BIC(), scores.Spline(), scores.Gaussian(g=1.0)):
        name = type(score).__name__
        found[f"score {name}"] = lambda score=score: sampled(score=score)
        found[f"score {name} 25"] = lambda score=score: sampled(LARGE.values, score=score)
    return found


def digest(posterior):
    """Return a digest of all that was drawn and counted."""
    parts = (posterior.edge_probabilities.to_numpy(), posterior.graphs, posterior.log_posterior)
    whole = hashlib.sha256()
    for part in parts:
        whole.update(np.ascontiguousarray(part).tobytes())
    return whole.hexdigest()[:16]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path, help="the file to write")
    parser.add_argument("reference", type=Path, nargs="?", help="a file of before, to compare with")
    options = parser.parse_args()
    reference = json.loads(options.reference.read_text()) if options.reference else {}
    found, changed = {}, sorted(set(reference) - set(cases()))
    for name, case in cases().items():
        found[name] = digest(case())
        if reference and reference.get(name) != found[name]:
            changed.append(name)
        print(f"{name:<26} {found[name]}{'  DIFFERS' if name in changed else ''}", flush=True)
    options.target.write_text(json.dumps(found, indent=1))
    print(f"{len(found)} runs, {len(changed)} differ{': ' + ', '.join(changed) if changed else ''}")
    sys.exit(1 if changed else 0)


if __name__ == "__main__":
    main()
