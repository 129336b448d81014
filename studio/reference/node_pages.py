"""Node reference: a page per group of the catalogue, a section per node."""

from __future__ import annotations

import ast
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from engine.dtypes import bool_
from engine.registry import Parameter
from engine.shape import Dim, Spec
from studio.lowering.codegen import syntax_trees
from studio.lowering.codegen.operation_calls import operation_call
from studio.lowering.codegen.safe_identifiers import SUBPACKAGES
from studio.nodes.catalogue import catalogue
from studio.nodes.python_node import DEFAULT_SOURCE, PYTHON
from studio.nodes.types import CATEGORIES, TITLES, NodeType, Role
from studio.reference.markdown import code, fence, joined, prose, table
from studio.reference.node_examples import N, required, shapes

FOLDER = "reference/nodes"
BATCH = 8
"""Number of samples in Python examples."""
SHOWN = 3
"""Maximum number of shapes shown per node."""
MATRICES = {"linalg.cholesky": "engine.eye(16).expand(8, 16, 16)"}
"""First input in Python examples of operations that need special values."""


def pages() -> Iterator[tuple[str, str]]:
    yield f"{FOLDER}/index.md", _index()
    for (category, group), members in _groups():
        yield path(category, group), _page(category, group, members)


def path(category: str, group: str) -> str:
    return f"{FOLDER}/{_file(category, group)}"


def _file(category: str, group: str) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", f"{category} {group}".lower()).strip("-")
    return f"{name if group.lower() != category else category}.md"


def titles() -> dict[str, list[tuple[str, str]]]:
    """Title and path of each page by category, in order."""
    found: dict[str, list[tuple[str, str]]] = {}
    for (category, group), _ in _groups():
        found.setdefault(TITLES[category], []).append((group, path(category, group)))
    return found


def python(kind: NodeType) -> str:
    """A program that uses the node's class; empty if it needs a file."""
    if any(parameter.path is not None and parameter.required for parameter in kind.params):
        return ""
    if kind.key == PYTHON:
        return DEFAULT_SOURCE
    return _PROGRAMS[kind.role](kind) if kind.role in _PROGRAMS else ""


def _groups() -> list[tuple[tuple[str, str], list[NodeType]]]:
    ordered = sorted(catalogue(), key=lambda kind: (CATEGORIES.index(kind.category), kind.group))
    grouped = itertools.groupby(ordered, lambda kind: (kind.category, kind.group))
    return [(key, sorted(members, key=lambda kind: kind.title)) for key, members in grouped]


def _index() -> str:
    parts = [
        "# Nodes",
        (
            f"Look up each of the {len(catalogue())} node types: parameters with defaults and bounds, ports, shapes "
            "and an example. The same list for programs:"
        ),
        fence("sh", "gradwire nodes --json"),
        "These pages are generated from the classes that the nodes call.",
    ]
    for category, groups in itertools.groupby(_groups(), lambda one: one[0][0]):
        rows = [
            (
                group,
                ", ".join(f"[{kind.title}]({_file(category, group)}#{kind.key})" for kind in kinds),
            )
            for (_, group), kinds in groups
        ]
        parts += [f"## {TITLES[category]}", table(("Group", "Nodes"), rows)]
    return joined(parts)


def _page(category: str, group: str, members: Iterable[NodeType]) -> str:
    found = list(members)
    rows = [(f"[{kind.title}](#{kind.key})", prose(kind.summary)) for kind in found]
    lead = "Look up parameters, ports and shapes, with an example of each node."
    return joined([f"# {_title(category, group)}", lead, table(("Node", "What it does"), rows), *map(_section, found)])


def _title(category: str, group: str) -> str:
    if group.lower() == category:
        return TITLES[category]
    return group if ":" in group else f"{TITLES[category]}: {group}"


def _section(kind: NodeType) -> str:
    return f"## {kind.title} {{ #{kind.key} }}\n\n{section(kind)}".rstrip()


def section(kind: NodeType) -> str:
    """The complete reference of a node, without a heading."""
    return joined(
        [
            f"`{kind.key}`{': ' if kind.summary else ''}{prose(kind.summary)}",
            prose(kind.help.removeprefix(kind.summary).strip()),
            _parameters(kind),
            _ports(kind),
            _shapes(kind),
            "**In a project file**",
            fence("json", _entry(kind)),
            *(["**In Python**", fence("python", program)] if (program := python(kind)) else []),
        ]
    )


# -- tables -----------------------------------------------------------------------------------


def _parameters(kind: NodeType) -> str:
    rows = [(code(each.name), _type(each), _default(each), _bounds(each), prose(each.help)) for each in kind.params]
    return table(("Parameter", "Type", "Default", "Bounds", "Meaning"), rows)


def _type(parameter: Parameter) -> str:
    if parameter.kind == "choice":
        return "choice"
    if parameter.path is not None:
        return parameter.path.kind
    several = {"ints": "int", "floats": "float"}.get(parameter.kind)
    if several is None:
        return parameter.kind
    length = "list" if parameter.length is None else f"{parameter.length}"
    many = f"{length} × {several}" if parameter.length else f"list of {several}"
    return f"{several} or {many}" if parameter.single else many


def _default(parameter: Parameter) -> str:
    if parameter.from_input is not None:
        return "from the wire"
    if parameter.from_training:
        return "from the training length"
    if parameter.required:
        return "**required**"
    return code(json.dumps(parameter.default, ensure_ascii=False, default=list))


def _bounds(parameter: Parameter) -> str:
    if parameter.choices:
        choices = ", ".join(code(json.dumps(choice, ensure_ascii=False)) for choice in parameter.choices)
        return f"{parameter.range} or {choices}" if parameter.range else choices
    if parameter.path is not None:
        return ", ".join(map(code, parameter.path.suffixes))
    return str(parameter.range or "")


def _ports(kind: NodeType) -> str:
    inputs = [("optional input" if port.optional else "input", port) for port in kind.inputs]
    directed = [*inputs, *(("output", port) for port in kind.outputs)]
    rows = [(code(port.name), direction, str(port.type), prose(port.help)) for direction, port in directed]
    return table(("Port", "Direction", "Carries", "Meaning"), rows)


def _shapes(kind: NodeType) -> str:
    shown = {each.name for each in kind.params if each.from_input is not None} | set(required(kind))
    rows = [
        (
            _specs(one.inputs),
            _specs(one.outputs),
            code(", ".join(f"{name}={_literal(value)}" for name, value in one.arguments.items() if name in shown)),
        )
        for one in shapes(kind)[:SHOWN]
    ]
    return table(("Input", "Output", "With"), rows)


def _specs(specs: Mapping[str, Spec]) -> str:
    texts = [str(spec) for spec in specs.values()]
    named = zip(specs, texts, strict=True)
    return texts[0] if len(texts) == 1 else ", ".join(f"`{port}` {text}" for port, text in named)


# -- examples ---------------------------------------------------------------------------------


def _entry(kind: NodeType) -> str:
    name = re.sub(r"\W+", "_", kind.title.lower()).strip("_")
    name = f"node_{name}" if name[:1].isdigit() else name
    values = required(kind)
    params = f', "params": {json.dumps(values)}' if values else ""
    return f'"{name}": {{"type": "{kind.key}"{params}}}'


def _call(kind: NodeType, *first: str, values: Mapping[str, Any] | None = None) -> str:
    arguments = required(kind) if values is None else values
    return f"{kind.key}({', '.join([*first, *(f'{key}={_literal(value)}' for key, value in arguments.items())])})"


def _literal(value: Any) -> str:
    return repr(tuple(value)) if isinstance(value, list) else repr(value)


def _layer(kind: NodeType) -> str:
    example = shapes(kind)[0]
    inferred = {each.name: example.arguments[each.name] for each in kind.params if each.from_input is not None}
    inputs = ", ".join(map(_random, example.inputs.values()))
    result = ", ".join(str(_numbers(spec)) for spec in example.outputs.values())
    loss = kind.role is Role.LOSS
    body = f"layer = {_call(kind, values={**inferred, **required(kind)})}\n" if not loss else f"loss = {_call(kind)}\n"
    name = "loss" if loss else "layer"
    return f"import engine\nfrom engine import nn\n\n{body}output = {name}({inputs})  # {result or 'scalar'}"


def _operation(kind: NodeType) -> str:
    example = shapes(kind)[0]
    modules = ["engine"]

    def module(name: str) -> str:
        modules.append(name)
        return name

    tensors = {name: syntax_trees.name(name) for name in example.inputs}
    given = {each.name: each.default for each in kind.params if each.is_preset} | required(kind)
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    call = ast.unparse(operation_call(kind, values, tensors, module))
    imports = [f"from {SUBPACKAGES.get(name, 'engine')} import {name}" for name in modules if name != "engine"]
    lines = [f"{name} = {MATRICES.get(kind.key) or _random(spec)}" for name, spec in example.inputs.items()]
    sizes = ", ".join(str(_numbers(spec)) for spec in example.outputs.values())
    lines.append(f"{', '.join(example.outputs)} = {call}  # {sizes}")
    return "\n".join(["import engine", *imports, "", *lines])


def _metric(kind: NodeType) -> str:
    example = shapes(kind)[0]
    inferred = {each.name: example.arguments[each.name] for each in kind.params if each.from_input is not None}
    inputs = ", ".join(map(_random, example.inputs.values()))
    construction = _call(kind, values={**inferred, **required(kind)})
    program = f"metric = {construction}\nmetric.update({inputs})\nprint(metric.compute())"
    return f"import engine\nfrom engine import metrics\n\n{program}"


def _optimizer(kind: NodeType) -> str:
    return f"from engine import nn, optim\n\nmodel = nn.Linear(4, 2)\noptimizer = {_call(kind, 'model.parameters()')}"


def _scheduler(kind: NodeType) -> str:
    lengths = {each.name: 100 for each in kind.params if each.from_training and each.name not in required(kind)}
    values = {**lengths, **required(kind)}
    call = _call(kind, "optimizer", values=values)
    lines = ("from engine import nn, optim", "from engine.optim import lr_scheduler", "")
    construction = ("optimizer = optim.SGD(nn.Linear(4, 2).parameters(), lr=0.1, momentum=0.9)", f"schedule = {call}")
    return "\n".join((*lines, *construction))


def _transform(kind: NodeType) -> str:
    lines = ("from engine import data", "from engine.data import transforms", "")
    source = "Moons" if kind.key == "transforms.FillMissing" else "Digits"  # bytes have no missing values
    return "\n".join((*lines, f"splits = data.{source}().map({_call(kind)})"))


def _source(kind: NodeType) -> str:
    return f"from engine import data\n\nsplits = {_call(kind)}\nprint(len(splits.train), splits.input)"


def _division(kind: NodeType) -> str:
    return f"from engine import data\n\ndivided = {_call(kind, 'data.Digits()')}"


def _random(spec: Spec) -> str:
    size = ", ".join(map(str, _numbers(spec)))
    if spec.dtype is bool_:
        return f"engine.rand({size}) > 0.5"
    return f"engine.randint(10, ({size},))" if spec.dtype.name.startswith("int") else f"engine.rand({size})"


def _numbers(spec: Spec) -> tuple[int, ...]:
    return tuple(size if isinstance(size, int) else _value(size) for size in spec.shape)


def _value(size: Dim) -> int:
    return next(count * BATCH for count in (1, 2) if size == count * N)


_PROGRAMS = {
    Role.LAYER: _layer,
    Role.LOSS: _layer,
    Role.OPERATION: _operation,
    Role.METRIC: _metric,
    Role.OPTIMIZER: _optimizer,
    Role.SCHEDULER: _scheduler,
    Role.TRANSFORM: _transform,
    Role.SOURCE: _source,
    Role.DIVISION: _division,
    Role.LOADER: _division,
}
