"""Sentences about nodes at which chains disagree, and about chains that go together. Chains count from 1 in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from parnidag.results.modes import ModeGroup

HEIGHT_LIMIT = math.log(20.0)
"""A mode this far below another in log posterior has a twentieth of its weight, if both are equally wide."""

SHOWN_GROUPS = 3
SHOWN_NODES = 6
SHOWN_CHAINS = 8
SHOWN_SPLIT = 4


def edge_label(parent: str, child: str) -> str:
    """Return "parent → child", each name cut to a length that fits a line.

    Examples
    --------
    >>> edge_label("PKC", "P38")
    'PKC → P38'
    """
    return f"{_cut(parent)} → {_cut(child)}"


def _cut(name: str, width: int = 24) -> str:
    name = " ".join(name.split()) or repr(name)
    return name if len(name) <= width else name[: width - 1] + "…"


def listed(items: Sequence[str], most: int) -> str:
    """Join words with commas; what is beyond the first `most` is only counted.

    Examples
    --------
    >>> listed(["A", "B", "C"], 3), listed(["A", "B", "C", "D"], 2)
    ('A, B and C', 'A, B and 2 more')
    """
    if len(items) > most:
        return f"{', '.join(items[:most])} and {len(items) - most} more"
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def node_list(nodes: Sequence[str]) -> str:
    """Name the nodes, not too many of them."""
    return listed([_cut(node) for node in nodes], SHOWN_NODES)


def chain_list(chains: Sequence[int]) -> str:
    """Name chains by number.

    Examples
    --------
    >>> chain_list([0, 2, 3])
    '1, 3 and 4'
    """
    return listed([str(chain + 1) for chain in chains], SHOWN_CHAINS)


def split_of_chains(chain_groups: Sequence[Sequence[int]]) -> str:
    """Say which chains go together.

    Examples
    --------
    >>> split_of_chains([[0, 2], [1, 3]])
    'chains 1 and 3 | 2 and 4'
    """
    if len(chain_groups) <= SHOWN_SPLIT:
        return "chains " + " | ".join(map(chain_list, chain_groups))
    shown = chain_groups[: SHOWN_SPLIT - 1]
    return f"{split_of_chains(shown)} | and {len(chain_groups) - len(shown)} more modes"


def separation(groups: Sequence[ModeGroup], chain_groups: Sequence[Sequence[int]]) -> str:
    """Say that chains sit in separated modes: how many, which chains, at which nodes."""
    nodes = dict.fromkeys(node for group in groups if group.kind == "separated" for node in group.nodes)
    return (
        f"chains sit in {len(chain_groups)} separated modes ({split_of_chains(chain_groups)}), "
        f"at nodes {node_list(list(nodes))}"
    )


def separation_advice(groups: Sequence[ModeGroup], settings: dict[str, Any]) -> list[str]:
    """Say what separated modes mean for the result, and what to try."""
    separated = [group for group in groups if group.kind == "separated"]
    stayed = all(group.by_start for group in separated)
    reason = "each chain stays where it started, and a longer run" if stayed else "a longer run"
    advice = [f"{reason} would hardly help: try {_other_samplers(settings)}, and more chains to find more of the modes"]
    heights = _about_heights(separated[0])
    if heights:
        where = "" if len(separated) == 1 else f"at {node_list(separated[0].nodes)} "
        advice.append(where + heights)
    return advice


def _other_samplers(settings: dict[str, Any]) -> str:
    """Name samplers that cross between modes more easily, by what the one that was used says of itself."""
    used = dict(settings.get("sampler") or {}).get("name")
    others = [f"samplers.{name}()" for name in ("PARNI", "PartitionMCMC") if name != used]
    return " or ".join(settings.get("alternatives") or others)  # older results do not say it


def _about_heights(group: ModeGroup) -> str:
    """Compare the mean log posteriors of the groups of chains; an empty string if they are unknown."""
    if group.log_posterior_gap is None or group.log_posterior_gap_error is None:
        return ""
    figures = list(zip(group.chain_groups, group.log_posterior_gap, group.log_posterior_gap_error, strict=True))
    low = [figure for figure in figures if figure[1] - 2.0 * figure[2] > HEIGHT_LIMIT]
    high = [figure for figure in figures if figure not in low]
    said = []
    if len(high) > 1:
        which = "the modes" if not low else split_of_chains([chains for chains, _, _ in high])
        _, gap, error = max(high, key=lambda figure: figure[1])
        said.append(
            f"{which} are about equally high (mean log posterior {gap:.1f} ± {error:.1f} apart): "
            f"{'both' if len(high) == 2 else 'all'} matter, and the run cannot weigh them"
        )
    said += [
        f"{_subject(chains)} {gap:.1f} ± {error:.1f} below the best in mean log posterior: "
        f"probably a local mode that {'it' if len(chains) == 1 else 'they'} cannot leave"
        for chains, gap, error in low[: 2 if not said else 1]
    ]
    return "; ".join(said)


def _subject(chains: Sequence[int]) -> str:
    return f"chain {chain_list(chains)} sits" if len(chains) == 1 else f"chains {chain_list(chains)} sit"


def group_lines(groups: Sequence[ModeGroup]) -> list[tuple[str, str]]:
    """Describe the first groups of nodes, each by its kind and a sentence."""
    lines: list[tuple[str, str]] = []
    for group in groups[:SHOWN_GROUPS]:
        parent, child, by_chain = group.edges[0]
        shown = "  ".join(f"{probability:.2f}" for probability in by_chain[:SHOWN_CHAINS])
        worst = f"{edge_label(parent, child)} {shown}{' …' * (len(by_chain) > SHOWN_CHAINS)}"
        parts = [f"{node_list(group.nodes)}: {worst}"]
        if group.kind == "separated":
            parts += [split_of_chains(group.chain_groups)] + ["each where it started"] * bool(group.by_start)
        lines.append((group.kind, "; ".join(parts)))
    if len(groups) > SHOWN_GROUPS:
        lines.append(("", f"and {len(groups) - SHOWN_GROUPS} more groups of nodes: see .modes"))
    return lines


def same_start_note(n_chains: int, edges: int, only_required: bool) -> str:
    """Say how little agreement proves when all chains began at one graph."""
    if only_required:
        where = "the graph without edges" if edges == 0 else "the required edges alone"
        return (
            f"all {n_chains} chains started from {where}, as is common; chains that start apart test agreement harder"
        )
    return (
        f"all {n_chains} chains started from the same graph, so that they agree is weak evidence: "
        "a mode that none of them met would not show; chains that start apart test it harder"
    )
