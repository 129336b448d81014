"""Rename, add, remove and change the nodes of a class, and let them share weights."""

from __future__ import annotations

from collections.abc import Mapping

from studio.document import edits
from studio.document import node_names as naming
from studio.document.model import Document, Node
from studio.document.weight_sharing import share, unshare
from studio.lowering.source_import.edits.module_change import ModuleChange
from studio.lowering.source_import.reading.module_source import NodeSource
from studio.lowering.source_import.reading.source_errors import SourceError


def check_unused(change: ModuleChange) -> None:
    known = {node.name for node in change.old.unused()}
    for node in change.new.unused():
        if node.name not in known:
            name = f"self.{node.name}" if node.name.isidentifier() and not node.is_operation else "this line"
            raise SourceError(
                f"Nothing that forward returns depends on {name}. Use the result, or remove the line.", node.line
            )


def rename_nodes(change: ModuleChange) -> None:
    """Remove nodes and rename others, and choose the names of all."""
    before, after = change.before.nodes, change.after.nodes
    kept = set(change.matched.values())
    change.edit(lambda shown: edits.remove(shown, [before[name] for name in change.old.nodes if name not in kept]))
    names: dict[str, str] = {}
    taken = set(change.shown.nodes) - {before[name] for name in kept}
    layers_first = sorted(change.new.nodes.items(), key=lambda item: item[1].is_operation)
    for name, node in layers_first:
        current = before[change.matched[name]] if name in change.matched else None
        if name.isidentifier() and not (node.is_operation and name in taken):
            wanted = current if current is not None and change.matched[name] == name else name
        else:
            wanted = current or naming.unique_name(
                naming.to_identifier(change.type_of(node)), {*taken, *change.new.nodes}
            )
        if wanted in taken:
            raise SourceError(f"There is already a node {wanted} in the project. Choose another name.", node.made_line)
        taken.add(wanted)
        names[name] = wanted
    after.update((name, names[name]) for name in change.new.nodes)
    change.renamed = {before[old]: after[new] for new, old in change.matched.items() if before[old] != after[new]}
    change.edit(lambda shown: _renamed(shown, change.renamed))


def change_nodes(change: ModuleChange) -> None:
    """Add new nodes, and set types and flags of the others."""
    for name, node in change.new.nodes.items():
        title, old = change.after.nodes[name], change.old_node(name)
        key = change.type_of(node)
        if old is None:
            change.added.append(title)
            params = change.templates[node.target].params if node.target in change.templates else {}
            made = Node(key, params, frozen=node.frozen, recomputed=node.recomputed)
            change.edit(lambda shown, title=title, made=made: edits.add(shown, title, made), node.made_line)
            continue
        if key != change.shown.nodes[title].type:
            params = change.templates[node.target].params if node.target in change.templates else {}
            change.edit(lambda shown, title=title, key=key, p=params: edits.retype(shown, title, key, p))
            frozen = node.frozen
            change.edit(lambda shown, title=title, frozen=frozen: edits.set_flag(shown, [title], frozen=frozen))
        elif node.frozen != old.frozen:
            _freeze(change, title, node)
        if node.recomputed != old.recomputed:
            again = node.recomputed
            change.edit(lambda shown, title=title, again=again: edits.set_flag(shown, [title], recomputed=again))
    if dict.fromkeys(change.old.frozen_paths) != dict.fromkeys(change.new.frozen_paths):
        paths = change.new.frozen_paths
        line = next((line for path, line in paths.items() if path not in change.old.frozen_paths), change.new.line)
        raise SourceError(
            "Layers inside a block are frozen in the class of the block, or with the whole instance.", line
        )
    if dict.fromkeys(change.old.initial_paths) != dict.fromkeys(change.new.initial_paths):
        texts = change.new.initial_paths
        line = next((line for text, line in texts.items() if text not in change.old.initial_paths), change.new.line)
        raise SourceError(
            "Initial weights of layers inside a block are set in the class of the block, or on the canvas.", line
        )


def _freeze(change: ModuleChange, title: str, node: NodeSource) -> None:
    if not node.frozen and not change.shown.nodes[title].frozen:
        raise SourceError(
            f"No optimizer trains {title}, so it stays frozen. Select it at an optimizer.", node.made_line
        )
    change.edit(lambda shown: edits.set_flag(shown, [title], frozen=node.frozen))


def share_weights(change: ModuleChange) -> None:
    """Let nodes use the weights of others, or separate ones."""
    now = {change.before.nodes[old]: change.after.nodes[new] for new, old in change.matched.items()}
    for name, node in change.new.nodes.items():
        title, old = change.after.nodes[name], change.old_node(name)
        before = "" if old is None or not old.shares else now.get(change.before.nodes[old.shares], "")
        owner = change.after.nodes[node.shares] if node.shares else ""
        if owner == before:
            continue
        change.edit(lambda shown, title=title: unshare(shown, [title]), node.line)
        if owner:
            change.edit(lambda shown, title=title, owner=owner: share(shown, [title], owner), node.line)


def _renamed(document: Document, names: Mapping[str, str]) -> Document:
    """Rename nodes, also where they swap names."""
    waiting = dict(names)
    while waiting:
        old = next((old for old, new in waiting.items() if new not in document.nodes), None)
        if old is None:
            old, new = next(iter(waiting.items()))
            free = naming.unique_name(new, document.nodes)
            document = edits.rename(document, old, free)
            del waiting[old]
            waiting[free] = new
            continue
        document = edits.rename(document, old, waiting.pop(old))
    return document


__all__ = ["change_nodes", "check_unused", "rename_nodes", "share_weights"]
