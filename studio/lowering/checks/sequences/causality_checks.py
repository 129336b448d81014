"""Models that predict the next element of a sequence and can see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from engine.shape import Dim, Spec
from studio.document.graph_walk import walk
from studio.document.model import Endpoint, Node
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_evaluation import SampleSpec
from studio.lowering.analysis.node_facts import NodeFacts
from studio.lowering.checks.sequences.sequence_layers import (
    ATTENTION,
    RECURRENT,
    SELF_ATTENTION,
    active,
    runs_along_batch,
)
from studio.lowering.problems import quick_fixes
from studio.lowering.problems.problem import Fix, Problem
from studio.nodes.types import Role

CAUSAL_MASK = "nn.CausalMask"
_READING_STEPS = (*RECURRENT, *ATTENTION, SELF_ATTENTION, "nn.Softmax", "nn.Conv1d")
_PRODUCTS = frozenset({"ops.matmul", "ops.bmm", "ops.einsum"})
_SCALING = frozenset({"ops.mul", "ops.div", "nn.Dropout", "nn.Identity"})


def causality_problems(flow: Dataflow) -> Iterator[Problem]:
    """Layers between the elements of a sequence and a loss with the next elements that read later steps."""
    for loader, length in _next_element_loaders(flow):
        yield from visible_elements(flow, loader, length)


def visible_elements(flow: Dataflow, loader: str, length: int) -> Iterator[Problem]:
    """Layers that read later steps of sequences of a loader whose targets are the next elements."""
    losses = [name for name in flow.graph.with_role(Role.LOSS) if _predicts_next(flow, name, loader)]
    if not losses:
        return
    readers = walk([loader], lambda name: [wire.target.node for wire in flow.graph.outgoing_wires.get(name, ())])
    between = flow.graph.upstream(losses).intersection(readers)
    for name, facts in active(flow, _READING_STEPS):
        if name in between and not runs_along_batch(facts):
            found = _problem(flow, name, facts, length)
            if found is not None:
                yield found


def _next_element_loaders(flow: Dataflow) -> Iterator[tuple[str, int]]:
    """Loaders whose targets are the inputs shifted by one element, with the length of a sequence."""
    for name in flow.graph.with_role(Role.LOADER):
        facts = flow.facts.get(name)
        samples = None if facts is None else next(iter(facts.inputs.values()), None)
        if not isinstance(samples, SampleSpec) or samples.classes is None or samples.input.ndim != 1:
            continue
        length = samples.input.shape[0]
        if samples.input.shape == samples.target.shape and isinstance(length, int):
            yield name, length


def _predicts_next(flow: Dataflow, loss: str, loader: str) -> bool:
    end = flow.graph.source(loss, "target")
    return end is not None and loader in flow.graph.upstream([end.node])


def _problem(flow: Dataflow, name: str, facts: NodeFacts, length: int) -> Problem | None:
    """The problem of a layer that reads later steps."""
    key, values = facts.type.key, facts.arguments.values
    sources = flow.graph.sources(name)
    if key in RECURRENT and values.get("bidirectional") is True:
        fix = quick_fixes.assign(name, "bidirectional", False)
        return _seen(name, "also reads the sequence from its end", "Turn bidirectional off", fix)
    if key == SELF_ATTENTION and not values.get("is_causal") and "attn_mask" not in sources:
        query = facts.spec("query")
        if query is None or query.ndim < 3 or query.shape[-2] != length:
            return None
        fix = quick_fixes.assign(name, "is_causal", True)
        return _seen(name, "attends to later steps", "Turn is_causal on", fix)
    if key in ATTENTION and ATTENTION[key].mask not in sources:
        return _unmasked_layer(flow, name, facts, length)
    if key == "nn.Softmax":
        return _unmasked_scores(flow, name, facts, length)
    if key == "nn.Conv1d":
        return _centered_convolution(flow, name, facts, length)
    return None


def _seen(name: str, reason: str, remedy: str, fix: Fix | None) -> Problem:
    message = (
        f"{name} {reason}, so the network sees the next element, which it has to predict: the loss becomes small in "
        f"training, and the network cannot continue a sequence. {remedy}."
    )
    return Problem("warning", "next-element-visible", message, node=name, fix=fix)


# -- attention --------------------------------------------------------------------------------


def _unmasked_layer(flow: Dataflow, name: str, facts: NodeFacts, length: int) -> Problem | None:
    ports = ATTENTION[facts.type.key]
    spec, end = facts.spec(ports.sequence), flow.graph.source(name, ports.sequence)
    if spec is None or end is None or spec.ndim != 3 or length not in spec.shape[:2]:
        return None
    remedy = f"Connect CausalMask to {name}.{ports.mask}"
    source = end if spec.shape[1] == length else _sequence_before(flow, name, length)
    target = Endpoint(name, ports.mask)
    title = f"Connect CausalMask to {ports.mask}"
    fix = None if source is None else quick_fixes.feed(source, Node(CAUSAL_MASK), target, title=title)
    return _seen(name, "attends to later steps", remedy, fix)


def _unmasked_scores(flow: Dataflow, name: str, facts: NodeFacts, length: int) -> Problem | None:
    """Softmax over scores of all pairs of steps, computed with a product of matrices."""
    spec, end = facts.spec("input"), flow.graph.source(name, "input")
    is_square = spec is not None and spec.ndim >= 3 and spec.shape[-2:] == (length, length)
    if not is_square or end is None or not _is_product(flow, end.node):
        return None
    source = _sequence_before(flow, name, length)
    fix = None
    if source is not None:
        added = quick_fixes.insert(Endpoint(name, "input"), Node("ops.add"), title="", input_port="x")
        fix = Fix(f"Add CausalMask before {name}", _masked(added, source, name))
    return _seen(name, "weights later steps", f"Add CausalMask to the scores before {name}", fix)


def _masked(added: Fix, source: Endpoint, name: str) -> Any:
    """An edit that adds a causal mask to the scores before a softmax."""

    def edit(document: Any) -> Any:
        after = added.edit(document)
        wire = next(each for each in after.wires if each.target == Endpoint(name, "input"))
        mask = quick_fixes.feed(source, Node(CAUSAL_MASK), Endpoint(wire.source.node, "y"), title="")
        return mask.edit(after)

    return edit


def _is_product(flow: Dataflow, name: str) -> bool:
    """Whether scores are a product of matrices that is only scaled."""

    def before(node: str) -> list[str]:
        node_type, sources = flow.graph.types[node], flow.graph.sources(node)
        is_scaling = node_type.key in _SCALING and len(sources) == 1
        return [end.node for end in sources.values()] if is_scaling else []

    *_, origin = walk([name], before)
    return flow.graph.types[origin].key in _PRODUCTS


def _sequence_before(flow: Dataflow, name: str, length: int) -> Endpoint | None:
    """The nearest output N×T or N×T×E before a node, in the same block."""
    scope = name.rpartition(".")[0]

    def before(end: Endpoint) -> list[Endpoint]:
        return list(flow.graph.sources(end.node).values())

    for end in walk(flow.graph.sources(name).values(), before):
        value = flow.value(end)
        if not isinstance(value, Spec) or value.ndim not in (2, 3) or end.node.rpartition(".")[0] != scope:
            continue
        if isinstance(value.shape[0], Dim) and value.shape[1] == length:
            return end
    return None


# -- convolutions -----------------------------------------------------------------------------


def _centered_convolution(flow: Dataflow, name: str, facts: NodeFacts, length: int) -> Problem | None:
    """A convolution along time that reads steps on both sides."""
    values, spec = facts.arguments.values, facts.spec("input")
    kernel, dilation, stride, padding = (
        _single(values.get(param)) for param in ("kernel_size", "dilation", "stride", "padding")
    )
    if spec is None or spec.ndim != 3 or kernel is None or dilation is None or stride != 1:
        return None
    reach = dilation * (kernel - 1)
    if values.get("padding") == "same":
        padding = reach // 2
    if padding is None or not reach - padding > 0 or 2 * padding != reach or spec.shape[2] != length:
        return None
    message = (
        f"reads {reach - padding} later step{'' if reach - padding == 1 else 's'} (padding {padding} on both sides)"
    )
    title = f"Pad only the left side of {name}"
    left = Node("nn.ZeroPad1d", {"padding": [reach, 0]})
    parts = [
        quick_fixes.insert(Endpoint(name, "input"), left, title=""),
        quick_fixes.assign(name, "padding", 0),
    ]
    fix = quick_fixes.all_of(parts, title)
    return _seen(name, message, f"Insert ZeroPad1d with padding {reach}, 0 before it, and set padding to 0", fix)


def _single(value: Any) -> int | None:
    """The size along the only dimension."""
    if isinstance(value, (tuple, list)) and len(value) == 1:  # pyright: ignore[reportUnknownArgumentType]
        value = value[0]  # pyright: ignore[reportUnknownVariableType]
    return value if isinstance(value, int) else None


__all__ = ["causality_problems", "visible_elements"]
