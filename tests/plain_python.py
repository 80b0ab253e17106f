"""The production kernels as plain Python, in a process without compilation, and their states in a digest."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent


@functools.cache
def script_figures(script, *arguments):
    """What a script of this folder prints as JSON; run once for all tests of a process."""
    return _json_of(script, *arguments)


def plain_value(expression):
    """The value of an expression such as "test_order.trajectory()", a function of a module of this folder."""
    module = expression.partition(".")[0]
    return _json_of("-W", "error", "-c", f"import json, {module}; print(json.dumps({expression}))")


def _json_of(*arguments):
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, *arguments]
    done = subprocess.run(command, cwd=HERE, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def digest_of(arrays):
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()
