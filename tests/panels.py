"""Panels for tests: simulated ones, and the past of every row found by a loop, slow and obvious."""

from __future__ import annotations

import numpy as np
import pandas as pd


def simulated(units: int = 6, times: int = 20, seed: int = 1) -> pd.DataFrame:
    """Two variables: b follows a at once and a step later, and both follow themselves."""
    rng = np.random.default_rng(seed)
    rows = []
    for unit in range(units):
        a = b = 0.0
        for time in range(times):
            before = a
            a = 0.4 * a + rng.normal()
            b = 0.3 * before + 0.2 * a + 0.2 * b + rng.normal()
            rows.append({"unit": f"u{unit}", "week": time, "a": a, "b": b})
    return pd.DataFrame(rows)


def with_gaps(table: pd.DataFrame, seed: int = 2) -> pd.DataFrame:
    """Some weeks are lost, series differ in length and in when they begin, and rows come in any order."""
    rng = np.random.default_rng(seed)
    kept = table[rng.random(len(table)) > 0.1]
    kept = kept[~((kept["unit"] == "u1") & (kept["week"] > 11)) & ~((kept["unit"] == "u2") & (kept["week"] < 5))]
    return kept.sample(frac=1.0, random_state=3).reset_index(drop=True)


def looked_up(table: pd.DataFrame, variables: list[str], lags: int) -> pd.DataFrame:
    """For every row its past, searched for among all rows."""
    rows = []
    for _, now in table.iterrows():
        row = {name: now[name] for name in variables}
        for lag in range(1, lags + 1):
            past = table[(table["unit"] == now["unit"]) & (table["week"] == now["week"] - lag)]
            if len(past) == 1:
                row.update({f"{name}[t-{lag}]": past.iloc[0][name] for name in variables})
        if len(row) == len(variables) * (1 + lags):
            rows.append({"unit": now["unit"], "week": now["week"], **row})
    return pd.DataFrame(rows).sort_values(["unit", "week"]).drop(columns=["unit", "week"]).reset_index(drop=True)


def shifted(table: pd.DataFrame, variables: list[str], lags: int) -> pd.DataFrame:
    """A broken twin: the row above is the past, whosever it is and whenever it was."""
    ordered = table.sort_values(["unit", "week"])[variables]
    parts = [ordered.shift(lag).add_suffix(f"[t-{lag}]" if lag else "") for lag in range(lags + 1)]
    return pd.concat(parts, axis=1).dropna().reset_index(drop=True)
