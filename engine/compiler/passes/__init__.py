"""Rewrites of a graph, each of which leaves its meaning alone."""

from __future__ import annotations

from collections.abc import Callable

from engine.compiler.graph import Graph
from engine.compiler.passes import channelwise as channelwise
from engine.compiler.passes import rowwise as rowwise
from engine.compiler.passes.attention import join_attention
from engine.compiler.passes.constants import fold_constants
from engine.compiler.passes.dead import drop_dead
from engine.compiler.passes.duplicates import share_duplicates
from engine.compiler.passes.simplify import simplify
from engine.compiler.passes.split import split_compound

PASSES: tuple[Callable[[Graph], None], ...] = (
    drop_dead, join_attention, drop_dead, split_compound, fold_constants, simplify, share_duplicates, drop_dead,
)  # fmt: skip


def optimize(graph: Graph) -> None:
    """Applies all passes, in place."""
    for rewrite in PASSES:
        rewrite(graph)


__all__ = ["PASSES", "optimize"]
