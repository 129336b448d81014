"""Random graphs with blocks, each with a planted failure, and whether a minimal reproduction fails the same way.

Run by hand: python -m tests.studio.training.reproduction.planted_failures 50
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Literal

from studio.document.blocks import block_nodes
from studio.document.model import Block, Document, Endpoint, Node, TrainingSettings, Wire
from studio.nodes.catalogue import catalogue
from studio.training.reproduction.failing_step import ReproductionError
from studio.training.reproduction.reproduce import Reproduction, reproduce

Plant = Literal["sqrt", "log", "exp", "division", "gradient", "index", "rate"]
PLANTS: tuple[Plant, ...] = ("sqrt", "log", "exp", "division", "gradient", "index", "rate")
_WIDTH = 12


@dataclass
class _Graph:
    nodes: dict[str, Node]
    wires: list[Wire]
    last: str
    """An output as "node.port"."""

    def add(self, name: str, node: Node, *sources: str) -> str:
        ports = {"ops.add": ("x", "y"), "ops.mul": ("x", "y"), "ops.div": ("x", "y"), "ops.sub": ("x", "y")}
        listed = ports.get(node.type, ("x" if node.type.startswith("ops.") else "input",))
        self.nodes[name] = node
        for source, port in zip(sources, listed, strict=False):
            self.wires.append(Wire(Endpoint(*source.split(".")), Endpoint(name, port)))
        self.last = f"{name}.output"
        return self.last


def planted(seed: int) -> tuple[Document, Plant, str]:
    """A random graph, its planted failure, and the path of the node that fails; empty if any node may."""
    random = Random(seed)
    plant = PLANTS[seed % len(PLANTS)]
    nodes = {
        "digits": Node("data.Digits"),
        "scale": Node("transforms.Normalize", {"std": 16.0}),
        "loader": Node("data.Batches", {"batch_size": 2 ** random.randint(2, 5)}),
    }
    graph = _Graph(nodes, [_wire("digits.samples", "scale.samples"), _wire("scale.samples", "loader.samples")], "")
    graph.add("flatten", Node("nn.Flatten"), "loader.input")
    graph.add("first", Node("nn.Linear", {"out_features": _WIDTH}), "flatten.output")
    blocks = {"Cell": _block([("fc", Node("nn.Linear", {"out_features": _WIDTH})), ("act", Node("nn.Tanh"))])}
    length, at = random.randint(4, 12), 0
    at = random.randrange(length)
    bad, in_block = "", random.random() < 0.5
    for index in range(length):
        _add_layer(graph, random, index)
        if index == at and plant != "rate":
            bad = _plant(graph, plant, blocks, in_block=in_block)
    graph.add("logits", Node("nn.Linear", {"out_features": 10}), graph.last)
    graph.nodes["loss"] = Node("nn.CrossEntropyLoss")
    rate = 1e30 if plant == "rate" else 0.01
    graph.nodes["sgd"] = Node("optim.SGD", {"lr": rate})
    graph.wires += [_wire("logits.output", "loss.input"), _wire("loader.target", "loss.target")]
    graph.wires.append(_wire("loss.loss", "sgd.loss"))
    training = TrainingSettings(steps=3, seed=seed, device="cpu", validate_epochs=0)
    document = Document(nodes=graph.nodes, wires=tuple(sorted(graph.wires)), training=training, blocks=blocks)
    return document, plant, bad


def _add_layer(graph: _Graph, random: Random, index: int) -> None:
    before = graph.last
    kind = random.choice(["linear", "act", "norm", "skip", "cell", "dropout"])
    name = f"{kind}{index}"
    if kind == "linear":
        graph.add(name, Node("nn.Linear", {"out_features": _WIDTH}), before)
    elif kind == "act":
        graph.add(name, Node(random.choice(["nn.Tanh", "nn.GELU", "nn.SiLU"])), before)
    elif kind == "norm":
        graph.add(name, Node("nn.LayerNorm"), before)
    elif kind == "dropout":
        graph.add(name, Node("nn.Dropout", {"p": 0.1}), before)
    elif kind == "cell":
        graph.add(name, Node("block.Cell", {"repeat": random.randint(1, 3)}), before)
    else:
        inner = graph.add(f"branch{index}", Node("nn.Linear", {"out_features": _WIDTH}), before)
        graph.add(name, Node("ops.add"), inner, before)


def _plant(graph: _Graph, plant: Plant, blocks: dict[str, Block], *, in_block: bool) -> str:
    """Add nodes of which one fails. Returns its path."""
    chains: dict[str, list[tuple[str, Node]]] = {
        "sqrt": [("norm", Node("nn.LayerNorm")), ("bad", Node("ops.sqrt"))],
        "log": [("norm", Node("nn.LayerNorm")), ("bad", Node("ops.log"))],
        "exp": [("norm", Node("nn.LayerNorm")), ("large", Node("ops.mul", {"y": 1000.0})), ("bad", Node("ops.exp"))],
        "division": [("zero", Node("ops.mul", {"y": 0.0})), ("bad", Node("ops.reciprocal"))],
        "gradient": [("norm", Node("nn.LayerNorm")), ("positive", Node("nn.ReLU")), ("bad", Node("ops.sqrt"))],
        "index": [
            ("norm", Node("nn.LayerNorm")),
            ("whole", Node("ops.argmax", {"dim": 1})),
            ("bad", Node("nn.Embedding", {"num_embeddings": 3, "embedding_dim": _WIDTH})),
        ],
    }
    chain = chains[plant]
    if in_block:
        blocks["Planted"] = _block(chain)
        graph.add("planted", Node("block.Planted"), graph.last)
        return "planted.bad"
    for name, node in chain:
        graph.add(name, node, graph.last)
    return "bad"


def _block(chain: list[tuple[str, Node]]) -> Block:
    nodes = {"input": Node(block_nodes.INPUT)}
    inner = _Graph(nodes, [], f"input.{block_nodes.GIVEN}")
    for name, node in chain:
        inner.add(name, node, inner.last)
    nodes["output"] = Node(block_nodes.OUTPUT)
    inner.wires.append(_wire(inner.last, f"output.{block_nodes.TAKEN}"))
    return Block(nodes=nodes, wires=tuple(sorted(inner.wires)))


def _wire(source: str, target: str) -> Wire:
    return Wire(Endpoint(*source.split(".")), Endpoint(*target.split(".")))


def reproduced(seed: int, folder: Path) -> tuple[Plant, str, Reproduction]:
    """The reproduction of a planted failure. Raises ReproductionError."""
    document, plant, bad = planted(seed)
    *_, result = reproduce(document, catalogue(), folder)
    assert isinstance(result, Reproduction)
    return plant, bad, result


def script_error(script: Path) -> str:
    """The last line of the error of a reproduction script; empty if it does not fail."""
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    return done.stderr.strip().rpartition("\n")[2] if done.returncode else ""


def main(count: int) -> int:
    """Reproduce planted failures, and print how many fail the same way, what is left and how many tries it took."""
    right = failing = 0
    shares: list[float] = []
    tries: list[int] = []
    for seed in range(count):
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            try:
                plant, bad, found = reproduced(seed, Path(folder))
            except ReproductionError as error:
                _print(f"{seed:4} {PLANTS[seed % len(PLANTS)]:9} NOT REPRODUCED: {error}")
                continue
            error = script_error(found.script)
        is_right = bad in ("", found.sign.node)
        right += is_right
        failing += bool(error)
        shares.append(len(found.kept) / found.nodes)
        tries.append(found.tries)
        _print(
            f"{seed:4} {plant:9} {'right node' if is_right else f'WRONG NODE {found.sign.node}':12} "
            f"{len(found.kept)} of {found.nodes} nodes, {found.samples} of {found.of_samples} samples, "
            f"{found.tries} tries, {time.perf_counter() - began:.1f} s; {error or 'THE SCRIPT DOES NOT FAIL'}"
        )
    _print(
        f"{len(shares)} of {count} reproduce, {right} at the planted node, {failing} scripts fail; "
        f"{sum(shares) / max(len(shares), 1):.0%} of the nodes are left on average, "
        f"{sum(tries) / max(len(tries), 1):.1f} tries (at most {max(tries, default=0)})"
    )
    return int(failing < count)


def _print(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20))
