"""Apply the changes of one module class to the graph that it was generated from."""

from __future__ import annotations

from studio.document.model import Document
from studio.lowering.source_import.edits.module_change import ModuleChange
from studio.lowering.source_import.edits.node_edits import change_nodes, check_unused, rename_nodes, share_weights
from studio.lowering.source_import.edits.node_order import ordered
from studio.lowering.source_import.edits.node_positions import place
from studio.lowering.source_import.edits.parameter_edits import bind_arguments, set_arguments
from studio.lowering.source_import.edits.port_edits import connect_results, match_input_ports
from studio.lowering.source_import.edits.wire_edits import connect_inputs


def apply_change(change: ModuleChange) -> Document:
    """The document after the edit of a class; `change.after` then has its graph. Raises SourceError.

    The classes that it uses must have been applied before.
    """
    check_unused(change)
    rename_nodes(change)
    match_input_ports(change)
    change_nodes(change)
    share_weights(change)
    bind_arguments(change)
    set_arguments(change)
    connect_inputs(change)
    connect_results(change)
    change.edit(lambda shown: place(shown, change.added))
    change.edit(lambda shown: ordered(shown, change.catalogue, list(change.after.nodes.values())))
    return change.document


__all__ = ["apply_change"]
