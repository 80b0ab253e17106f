"""A run with checkpoints in a process of its own, to be killed: sampler, checkpoint, draws."""

from __future__ import annotations

import sys

from stopped_runs import run

from parnidag.run import checkpoint, pools

if __name__ == "__main__":
    checkpoint.INTERVAL_SECONDS, checkpoint.MOST_SHARE = 0.02, 1.0
    pools.Pool.seconds = 0.02
    name, path, draws = sys.argv[1:]
    run(name, checkpoint=path, draws=int(draws))
    print("ended")
