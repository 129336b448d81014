"""The NaN hunt: random graphs with blocks, NaN or infinity planted at a random node, and whether its origin is found.

python -m tests.studio.training.breakpoints.nan_hunt 200
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import engine
from engine import fit
from studio.document.model import Block, Document, Endpoint, Node, Wire
from studio.lowering import check, lower
from studio.lowering.user_code.document_code import allow_code
from studio.nodes import catalogue
from studio.nodes.python_node import PYTHON
from studio.training.breakpoints.find_origin import find_origin
from studio.training.breakpoints.origin import Origin

WIDTH = 12
PLANT = "plant"
LARGE = """\
def enlarge(x):
    return x * 1e6
"""
ZERO = """\
def nothing(x):
    return x * 0
"""
MASKED = """\
def attend(x):
    scores = x.unsqueeze(-1) * x.unsqueeze(-2)
    later = engine.ones(12, 12).triu(1) > 0
    weights = scores.masked_fill(later, float("-inf")).softmax(-1)
    return (weights @ x.unsqueeze(-1)).squeeze(-1)
"""
CHOSEN = """\
def roots(x):
    positive = x > 0
    safe = engine.where(positive, x, 1.0)
    with engine.no_grad():
        shown = (x - x).log()
    return engine.where(positive, safe.sqrt(), x)
"""
IN_CODE = """\
def shrink(x):
    doubled = x * 2

    return doubled + (x - 9).log()
"""
MASKED_EXP = """\
def grow(x):
    large = (x * 1e6).exp()
    return engine.where(x > 0, x, large.clamp(max=1.0)) + engine.where(x < 9, x, large)
"""
HOOKED = """\
def watch(x):
    y = x * 1
    if y.requires_grad:
        y.register_hook(lambda gradient: gradient / 0)
    return y
"""
FUNCTION = """\
def pass_on(x):
    class PassOn(engine.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            return gradient * float("nan")

    return PassOn.apply(x)
"""
FLAT_ROW = """\
def attend(x):
    nothing = engine.ones_like(x) > 0
    return x + x.masked_fill(nothing, float("-inf")).softmax(-1)
"""


@dataclass(frozen=True)
class Plant:
    """Nodes in a row; NaN or infinity arises in the last one."""

    nodes: tuple[Node, ...]
    direction: str
    line: int | None = None
    once: bool = False
    """Infinity, which may not reach the loss from a copy: plant in one."""


FORWARD = {
    "logarithm": Plant((Node("nn.LayerNorm"), Node("ops.log")), "forward"),
    "square root": Plant((Node("nn.LayerNorm"), Node("ops.sqrt")), "forward"),
    "reciprocal": Plant((Node("nn.LayerNorm"), Node("nn.ReLU"), Node("ops.reciprocal")), "forward", once=True),
    "exponential": Plant((Node("nn.LayerNorm"), Node(PYTHON, {"source": LARGE}), Node("ops.exp")), "", once=True),
    "line": Plant((Node("nn.LayerNorm"), Node(PYTHON, {"source": IN_CODE})), "forward", 4),
    "masked row": Plant((Node("nn.LayerNorm"), Node(PYTHON, {"source": FLAT_ROW})), "forward", 3),
}
BACKWARD = {
    "root of 0": Plant((Node(PYTHON, {"source": ZERO}), Node("ops.sqrt")), "backward"),
    "hook": Plant((Node(PYTHON, {"source": HOOKED}),), "backward", 4),
    "function": Plant((Node(PYTHON, {"source": FUNCTION}),), "backward", 9),
    "masked overflow": Plant((Node("nn.LayerNorm"), Node(PYTHON, {"source": MASKED_EXP})), "", 2),
}
PLANTS = {**FORWARD, **BACKWARD}


def has_plant(blocks: dict[str, Block], block: Block) -> bool:
    """Whether a block or one inside it has the planted node."""
    inner = [
        blocks[node.type.removeprefix("block.")] for node in block.nodes.values() if node.type.startswith("block.")
    ]
    return PLANT in block.nodes or any(has_plant(blocks, each) for each in inner)


@dataclass
class Builder:
    """A chain of nodes in one scope, in which branches join again."""

    random: random.Random
    blocks: dict[str, Block]
    depth: int = 0
    nodes: dict[str, Node] = field(default_factory=dict)
    wires: list[Wire] = field(default_factory=list)
    end: Endpoint = field(default_factory=lambda: Endpoint("", ""))
    plant_at: int = -1
    plant: Plant | None = None

    def add(self, node: Node, name: str | None = None, second: Endpoint | None = None) -> None:
        name = name or f"n{len(self.nodes)}"
        self.nodes[name] = node
        ports = ["x"] if node.type == PYTHON else [port.name for port in self._type(node).inputs]
        self.wires.append(Wire(self.end, Endpoint(name, ports[0])))
        if second is not None:
            self.wires.append(Wire(second, Endpoint(name, ports[1])))
        self.end = Endpoint(name, "output")

    def _type(self, node: Node) -> Any:
        if node.type.startswith("block."):
            return next(each for each in catalogue() if each.key == "nn.ReLU")
        return catalogue()[node.type]

    def fill(self, length: int) -> None:
        for index in range(length):
            if index == self.plant_at and self.plant is not None:
                *before, last = self.plant.nodes
                for node in before:
                    self.add(node)
                self.add(last, PLANT)
            self.part()

    def part(self) -> None:
        before = self.end
        match self.random.randrange(9 if self.depth < 2 else 7):
            case 0 | 1:
                self.add(Node("nn.Linear", {"out_features": WIDTH}))
            case 2:
                self.add(Node(self.random.choice(("nn.Tanh", "nn.GELU", "nn.Sigmoid", "nn.ReLU"))))
            case 3:
                self.add(Node(self.random.choice(("nn.LayerNorm", "nn.BatchNorm1d"))))
            case 4:
                self.add(Node("nn.Dropout", {"p": 0.2}))
            case 5:
                self.add(Node(PYTHON, {"source": self.random.choice((MASKED, CHOSEN))}))
            case 6:
                self.add(Node("nn.Linear", {"out_features": WIDTH}))
                self.add(Node(self.random.choice(("ops.add", "ops.mul"))), second=before)
            case _:
                names = [name for name, block in self.blocks.items() if not has_plant(self.blocks, block)]
                if not names or self.random.random() < 0.5:
                    names = [self.block()]
                instance = Node(f"block.{self.random.choice(names)}", {"repeat": self.random.choice((1, 1, 2, 3))})
                self.add(instance)

    def block(self, *, plant: Plant | None = None) -> str:
        inner = Builder(self.random, self.blocks, self.depth + 1)
        inner.nodes["input"] = Node("port.Input")
        inner.end = Endpoint("input", "output")
        length = self.random.randint(1, 4)
        if plant is not None:
            inner.plant, inner.plant_at = plant, self.random.randrange(length)
        inner.fill(length)
        inner.nodes["output"] = Node("port.Output")
        inner.wires.append(Wire(inner.end, Endpoint("output", "input")))
        name = f"b{len(self.blocks)}"
        self.blocks[name] = Block(inner.nodes, tuple(sorted(inner.wires)))
        return name


def document(seed: int, plant: Plant | None, *, in_block: bool) -> Document:
    """A random network for the digits, with a plant or without."""
    source = random.Random(seed)
    builder = Builder(source, {})
    builder.nodes |= {
        "digits": Node("data.Digits"),
        "scale": Node("transforms.Normalize", {"std": 16.0}),
        "batches": Node("data.Batches", {"batch_size": 16}),
    }
    builder.wires += [
        Wire(Endpoint("digits", "samples"), Endpoint("scale", "samples")),
        Wire(Endpoint("scale", "samples"), Endpoint("batches", "samples")),
    ]
    builder.end = Endpoint("batches", "input")
    builder.add(Node("nn.Flatten"))
    builder.add(Node("nn.Linear", {"out_features": WIDTH}))
    length = source.randint(2, 6)
    place = source.randrange(length)
    for index in range(length):
        if index == place and plant is not None:
            if in_block:
                copies = 1 if plant.once else source.choice((1, 2))
                builder.add(Node(f"block.{builder.block(plant=plant)}", {"repeat": copies}), "planted")
            else:
                *before, last = plant.nodes
                for node in before:
                    builder.add(node)
                builder.add(last, PLANT)
        builder.part()
    builder.add(Node("nn.Linear", {"out_features": 10}), "logits")
    builder.nodes |= {"cross_entropy": Node("nn.CrossEntropyLoss"), "adam": Node("optim.Adam")}
    builder.wires += [
        Wire(builder.end, Endpoint("cross_entropy", "input")),
        Wire(Endpoint("batches", "target"), Endpoint("cross_entropy", "target")),
        Wire(Endpoint("cross_entropy", "loss"), Endpoint("adam", "loss")),
    ]
    return Document(nodes=builder.nodes, wires=tuple(sorted(builder.wires)), blocks=builder.blocks)


@dataclass(frozen=True)
class Hunt:
    """One planted origin, and what was found."""

    seed: int
    what: str
    expected: str
    found: Origin | None
    is_right: bool


def hunt(seed: int) -> Hunt | None:
    """Plant, and look for the origin; None if NaN does not reach the loss or a gradient, as after a sigmoid."""
    source = random.Random(f"plant {seed}")
    what = source.choice([*PLANTS, *PLANTS, "parameter", "input"])
    plant = PLANTS.get(what)
    planted = document(seed, plant, in_block=source.random() < 0.6)
    allow_code(planted)
    report = check(planted, catalogue())
    assert not report.errors, (seed, report.errors)
    program = lower(report)
    task = program.build(seed=seed)
    batch = next(iter(task.setup().train))
    graph = report.checked.graph
    tensor = None
    if what == "input":
        batch = [batch[0].clone(), *batch[1:]]
        batch[0][source.randrange(8), 0, 0, 0] = source.choice((float("nan"), float("inf")))
    elif what == "parameter":
        tensor, values = source.choice(sorted(task.model.named_parameters()))
        with engine.no_grad():
            values.reshape(-1)[source.randrange(values.numel())] = source.choice((float("nan"), float("-inf")))
    else:
        assert plant is not None
    if not _reaches(task, batch):
        return None
    found = find_origin(task, program, graph, batch)
    if tensor is not None:
        return Hunt(seed, what, tensor, found, found is not None and found.tensor == tensor)
    if plant is None:
        return Hunt(
            seed, what, "batches", found, found is not None and (found.node, found.kind) == ("batches", "input")
        )
    paths = [path for path in graph.order if path.rpartition(".")[2] == PLANT]
    expected = paths[-1] if plant.direction == "backward" else paths[0]
    is_right = found is not None and found.node == expected and found.line == plant.line
    if plant.direction == "backward":
        is_right = is_right and found is not None and found.kind == "gradient"
    return Hunt(seed, what, expected, found, is_right)


def _reaches(task: fit.Task, batch: Any) -> bool:
    """Whether the loss or a gradient is not finite, without any trace."""
    with fit.preserve_state(task):
        losses = fit.compute_losses(task, batch)
        if not all(loss.isfinite().all().item() for loss in losses.values()):
            return True
        fit.compute_gradients(task, losses)
        return any(not p.grad.isfinite().all().item() for p in task.model.parameters() if p.grad is not None)


def hunts(count: int, start: int = 0) -> Iterator[Hunt]:
    """This many hunts in which NaN reaches the loss or a gradient."""
    seed = start
    while count:
        if (found := hunt(seed)) is not None:
            yield found
            count -= 1
        seed += 1


def main(count: int) -> None:
    right, kinds = 0, Counter[str]()
    for number, each in enumerate(hunts(count), start=1):
        right += each.is_right
        kinds[each.what] += 1
        if not each.is_right:
            sys.stdout.write(f"seed {each.seed}, {each.what}: expected {each.expected}, found {each.found}\n")
        if number % 50 == 0 or number == count:
            sys.stdout.write(f"{right} of {number} right; {dict(kinds)}\n")
    sys.exit(right < count)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
