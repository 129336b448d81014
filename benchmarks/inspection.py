"""Time to look at the samples of a project: of MNIST, and of a generated CSV table of 1 GB.

python benchmarks/inspection.py FOLDER          FOLDER has the IDX files of MNIST; without it, only the table
python benchmarks/inspection.py --gigabytes 4   another size of the table
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from studio.document import edits
from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering.check import check
from studio.nodes import catalogue
from studio.training.data.data_inspector import DataInspector

_COLUMNS = 10
_BLOCK = 100_000


def project(source: Node, scale: Node, *layers: Node) -> Document:
    """A network on samples of a source."""
    nodes = {"source": source, "scale": scale, "batches": Node("data.Batches")}
    nodes |= {f"layer{index}": layer for index, layer in enumerate(layers[:-1])}
    nodes |= {"loss": layers[-1], "adam": Node("optim.Adam")}
    chain = [
        ("source.samples", "scale.samples"),
        ("scale.samples", "batches.samples"),
        ("batches.target", "loss.target"),
        ("loss.loss", "adam.loss"),
    ]
    names = ["batches", *(f"layer{index}" for index in range(len(layers) - 1)), "loss"]
    for one, two in pairwise(names):
        chain.append((f"{one}.{'input' if one == 'batches' else 'output'}", f"{two}.input"))
    wires = (Wire(Endpoint(*one.split(".")), Endpoint(*two.split("."))) for one, two in chain)
    return Document(nodes, tuple(sorted(wires)))


def mnist(folder: Path) -> Document:
    scale = Node("transforms.Normalize", {"mean": 33.3, "std": 78.6})
    layers = Node("nn.Flatten"), Node("nn.Linear", {"out_features": 10}), Node("nn.CrossEntropyLoss")
    return project(Node("data.IDX", {"folder": str(folder)}), scale, *layers)


def table(path: Path, size: float) -> Document:
    """A table of numbers; the target is a sum of two columns with noise."""
    random = np.random.default_rng(0)
    values = random.normal(size=(_BLOCK, _COLUMNS + 1)).round(6)
    values[:, -1] = (values[:, 0] + values[:, 1] + 0.5 * values[:, -1]).round(6)
    block = "".join(",".join(map(repr, row)) + "\n" for row in values.tolist())
    with path.open("w") as file:
        file.write(",".join([*(f"x{index}" for index in range(_COLUMNS)), "y"]) + "\n")
        for _ in range(round(size * 1e9 / len(block))):
            file.write(block)
    source = Node("data.CSV", {"path": str(path), "target": "y", "task": "number"})
    layers = Node("nn.Linear", {"out_features": 1}), Node("nn.MSELoss")
    return project(source, Node("transforms.Normalize"), *layers)


def measure(name: str, document: Document) -> None:
    inspector = DataInspector()
    start = time.perf_counter(), time.process_time()
    report = check(document, catalogue())
    checked = time.perf_counter(), time.process_time()
    found = inspector.inspect(report)
    inspected = time.perf_counter(), time.process_time()
    other = check(edits.set_param(document, "adam", "lr", 0.002), catalogue(), previous=report)
    edited = time.perf_counter()
    inspector.inspect(other)
    again = time.perf_counter() - edited
    print(f"{name}: check {checked[0] - start[0]:.2f} s, inspection {inspected[0] - checked[0]:.2f} s ", end="")
    print(f"({inspected[1] - checked[1]:.2f} s of CPU time), after an edit elsewhere {1000 * again:.1f} ms")
    for part in found.looked_at:
        print(f"  looked at {part}")
    for problem in (*report.problems, *found.problems):
        print(f"  {problem.severity}: {problem.message}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--gigabytes", type=float, default=1.0)
    arguments = parser.parse_args()
    if arguments.folder is not None:
        measure("MNIST", mnist(arguments.folder))
    with tempfile.TemporaryDirectory() as folder:
        measure(f"CSV table of {arguments.gigabytes:g} GB", table(Path(folder) / "table.csv", arguments.gigabytes))


if __name__ == "__main__":
    main()
