"""Passes that rewrite a graph without changing its results."""

from __future__ import annotations

from collections.abc import Callable

from engine.compiler.ir import IRGraph
from engine.compiler.passes import decompose_channelwise as decompose_channelwise
from engine.compiler.passes import decompose_rowwise as decompose_rowwise
from engine.compiler.passes.common_subexpressions import eliminate_common_subexpressions
from engine.compiler.passes.dead_code import eliminate_dead_code
from engine.compiler.passes.decompose import decompose_compound
from engine.compiler.passes.fold_constants import fold_constants
from engine.compiler.passes.fuse_attention import fuse_attention
from engine.compiler.passes.simplify_graph import simplify_graph

PASSES: tuple[Callable[[IRGraph], None], ...] = (
    eliminate_dead_code,
    fuse_attention,
    eliminate_dead_code,
    decompose_compound,
    fold_constants,
    simplify_graph,
    eliminate_common_subexpressions,
    eliminate_dead_code,
)


def optimize(graph: IRGraph) -> None:
    """Runs all passes in place."""
    for rewrite in PASSES:
        rewrite(graph)


__all__ = ["PASSES", "optimize"]
