"""Figures of instances, summed over the nodes in them, and the labels of wires at any depth."""

from __future__ import annotations

from collections import Counter
from typing import Any

from engine.shape import Spec
from studio.document.blocks import block_nodes
from studio.document.blocks.block_expansion import Scope
from studio.document.model import Endpoint, ParamRef, Wire
from studio.lowering.analysis.dataflow import Dataflow
from studio.lowering.analysis.node_facts import NodeInfo


def instance_infos(flow: Dataflow) -> dict[str, NodeInfo]:
    """Figures of all expanded instances, by path; those of a repeated instance are of all copies together."""
    parameters: Counter[str] = Counter()
    macs: Counter[str] = Counter()
    memory: Counter[str] = Counter()
    for name, facts in flow.facts.items():
        outer = name.rpartition(".")[0]
        while outer:
            parameters[outer] += facts.info.parameters
            macs[outer] += facts.info.macs
            memory[outer] += facts.info.memory
            outer = outer.rpartition(".")[0]
    infos: dict[str, NodeInfo] = {}
    for scope in flow.expansion.root.with_inner():
        for name, copies in scope.copies.items():
            path = scope.prefix + name
            arguments, inferred = _arguments(flow, copies)
            infos[path] = NodeInfo(
                arguments,
                inferred,
                _outputs(flow, scope, name),
                parameters[path],
                macs[path],
                memory[path],
                _summary(copies, parameters[path]),
            )
    return infos


def wire_labels(flow: Dataflow, scope: Scope) -> dict[Wire, str]:
    """The label of each wire in a scope: "N×64 float32". Wires with an unknown value are absent."""
    labels: dict[Wire, str] = {}
    for target, source in scope.sources.items():
        end = flow.expansion.source(scope, source)
        text = None if end is None or end.node not in flow.facts else flow.facts[end.node].labels.get(end.port)
        if text is not None:
            labels[Wire(source, target)] = text
    return labels


def _arguments(flow: Dataflow, copies: list[Scope]) -> tuple[dict[str, Any], frozenset[str]]:
    """The values of promoted parameters in the first copy, and those that are inferred."""
    values: dict[str, Any] = {}
    inferred: set[str] = set()
    for param, refs in flow.expansion.document.blocks[copies[0].block].params.items():
        found = next((found for ref in refs if (found := _argument(flow, copies[0], ref)) is not None), None)
        if found is not None:
            values[param] = found[0]
            inferred |= {param} if found[1] else set()
    return {**values, block_nodes.REPEAT: len(copies)}, frozenset(inferred)


def _argument(flow: Dataflow, scope: Scope, ref: ParamRef) -> tuple[Any, bool] | None:
    """The value of a parameter of a node or instance, and whether it is inferred; None if it is unknown."""
    if ref.node in scope.copies:
        values, inferred = _arguments(flow, scope.copies[ref.node])
        return (values[ref.param], ref.param in inferred) if ref.param in values else None
    facts = flow.facts.get(scope.prefix + ref.node)
    if facts is None or ref.param not in facts.info.arguments:
        return None
    return facts.info.arguments[ref.param], ref.param in facts.info.inferred


def _outputs(flow: Dataflow, scope: Scope, name: str) -> dict[str, Spec]:
    outputs: dict[str, Spec] = {}
    for port in block_nodes.output_ports(scope.copies[name][-1].nodes):
        end = flow.expansion.source(scope, Endpoint(name, port))
        value = None if end is None else flow.value(end)
        if isinstance(value, Spec):
            outputs[port] = value
    return outputs


def _summary(copies: list[Scope], parameters: int) -> str:
    """The one line in the node: "3 × 5 nodes · 6,960 parameters"."""
    nodes = sum(1 for name in copies[0].nodes if not copies[0].is_boundary(name))
    text = f"{nodes} nodes" if nodes != 1 else "1 node"
    if len(copies) > 1:
        text = f"{len(copies)} × {text}"
    return f"{text} · {parameters:,} parameters" if parameters else text


__all__ = ["instance_infos", "wire_labels"]
