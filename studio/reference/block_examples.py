"""Examples of blocks: the shapes at an instance, and the class in Python."""

from __future__ import annotations

import ast
import json

from engine.system.syntax import parse_source
from studio.document.blocks import block_nodes
from studio.document.model import Document
from studio.lowering import check, lower
from studio.lowering.report import Report
from studio.nodes.catalogue import catalogue
from studio.reference.markdown import code, fence, joined, table


def block_example(document: Document, report: Report, instance: str) -> str:
    """Parameters, shapes and figures of an instance in a checked graph; empty if its shapes are unknown."""
    ends = [("input", wire.target, shape) for wire, shape in report.wires.items()]
    ends += [("output", wire.source, shape) for wire, shape in report.wires.items()]
    shapes = {(end.port, side): shape for side, end, shape in ends if end.node == instance}
    info = report.nodes.get(instance)
    if not shapes or info is None:
        return ""
    params = document.nodes[instance].params
    given = ", ".join(code(f"{name}={json.dumps(value)}") for name, value in params.items()) or "the defaults"
    kind = document.nodes[instance].type.removeprefix(block_nodes.type_of(""))
    rows = [
        (code(port), side, code(shape)) for (port, side), shape in sorted(shapes.items(), key=lambda each: each[0][1])
    ]
    return joined(
        [
            "**Example**",
            f"{code(kind)} with {given}: {info.parameters:,} parameters and {info.macs:,} multiply-adds per sample.",
            table(("Port", "Direction", "Shape"), rows),
        ]
    )


def shipped_example(document: Document, name: str) -> str:
    """The example of a block in its file, with the generated class."""
    report = check(document, catalogue())
    instance = next(key for key, node in document.nodes.items() if block_nodes.name_of(node) == name)
    return joined(
        [
            block_example(document, report, instance),
            "**In Python**",
            fence("python", _class_source(lower(report).source, name)),
        ]
    )


def _class_source(source: str, name: str) -> str:
    """The class of a block in the generated program."""
    wanted = name.replace("_", "").lower()
    classes = [node for node in parse_source(source).body if isinstance(node, ast.ClassDef)]
    found = next(node for node in classes if node.name.lower() == wanted)
    return ast.get_source_segment(source, found) or ""


__all__ = ["block_example", "shipped_example"]
