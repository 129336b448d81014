"""Names, wires and blocks."""

from __future__ import annotations

from studio.lowering.problems.diagnosis import Diagnosis

GRAPH = (
    Diagnosis(
        "bad-name",
        "Invalid name",
        "A node's name is an identifier in the generated code and the prefix of its parameters.",
    ),
    Diagnosis(
        "reserved-name",
        "Reserved name",
        "A node's name becomes an attribute of a generated class and must not replace a method of it.",
    ),
    Diagnosis(
        "unknown-type",
        "Unknown node type",
        "A node whose type this version does not have is kept in the file but cannot run.",
    ),
    Diagnosis(
        "unknown-block",
        "Unknown block",
        "An instance needs the definition of its block, which is stored in the project.",
    ),
    Diagnosis(
        "recursive-block",
        "Recursive block",
        "A block is expanded into its nodes, so it cannot contain itself.",
    ),
    Diagnosis(
        "misplaced-node",
        "Node not allowed in a block",
        "A block holds layers, operations and blocks between its input and output ports.",
    ),
    Diagnosis(
        "too-many-nodes",
        "Too many nodes",
        "Every copy of every instance has separate nodes, which are checked one by one.",
    ),
    Diagnosis(
        "stray-wire",
        "Invalid wire",
        "A wire joins an output to an input of the same type; an input takes one wire.",
    ),
    Diagnosis(
        "missing-wire",
        "Missing wire",
        "Every input that is not optional needs a wire.",
    ),
    Diagnosis(
        "muted-source",
        "Muted source",
        "A muted node outputs its input if their types match, otherwise nothing.",
    ),
    Diagnosis(
        "not-wired",
        "Node without wires",
        "A node without wires is not part of a run.",
    ),
    Diagnosis(
        "unused",
        "Unused node",
        "A run computes the nodes that an optimizer's loss or a metric depends on.",
    ),
    Diagnosis(
        "cycle",
        "Cycle",
        "Nodes are computed in the order of their wires. A cycle has no such order.",
    ),
)

__all__ = ["GRAPH"]
