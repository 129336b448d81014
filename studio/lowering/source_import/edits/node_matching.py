"""Find the nodes of edited source in the graph: by name, otherwise by what they compute."""

from __future__ import annotations

from studio.lowering.source_import.reading.module_source import ModuleSource, NodeSource, Tensor, same


def match_nodes(old: ModuleSource, new: ModuleSource) -> dict[str, str]:
    """Names in the old source by names in the new one. Nodes that are new are absent.

    A node with another name is matched if its type is the same, and also its arguments or its inputs.
    """
    matched = {name: name for name in new.nodes if name in old.nodes and name.isidentifier()}
    free = {name: node for name, node in old.nodes.items() if name not in matched}
    for name, node in new.nodes.items():
        if name in matched or not free:
            continue
        scores = {before: _score(each, node, old, new, matched) for before, each in free.items()}
        best = max(scores, key=lambda before: scores[before])
        if scores[best] > 1:
            matched[name] = best
            del free[best]
    return matched


def _score(old: NodeSource, new: NodeSource, before: ModuleSource, after: ModuleSource, matched: dict[str, str]) -> int:
    if old.target != new.target:
        return 0
    has_same_arguments = same(dict(old.arguments), dict(new.arguments))
    translated = {port: _translated(tensor, before, after, matched) for port, tensor in new.inputs.items()}
    has_same_inputs = translated == dict(old.inputs)
    return 1 + has_same_arguments + 2 * has_same_inputs + (old.name == new.name)


def _translated(tensor: Tensor, old: ModuleSource, new: ModuleSource, matched: dict[str, str]) -> Tensor | None:
    if tensor.node:
        return Tensor(matched[tensor.node], tensor.index) if tensor.node in matched else None
    return tensor if tensor.index < len(old.inputs) else None


__all__ = ["match_nodes"]
