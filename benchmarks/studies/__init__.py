"""Every study by its name."""

from __future__ import annotations

from typing import Any

from benchmarks.harness.study import Study
from benchmarks.studies.scaling import SCALING
from benchmarks.studies.speed import SPEED
from benchmarks.studies.table1 import TABLE1

STUDIES: dict[str, Study[Any]] = {study.name: study for study in (TABLE1, SCALING, SPEED)}
