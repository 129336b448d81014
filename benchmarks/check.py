"""Time of a check of a large graph: from scratch, and after editing a parameter, a node, a wire.

python benchmarks/check.py                  a chain of 2,000 nodes
python benchmarks/check.py --nodes 10000    another length
python benchmarks/check.py --profile        profile of a parameter edit
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from studio.document import edits
from studio.document.model import Document, Endpoint, Node, Wire
from studio.lowering.check import Checker
from studio.nodes import catalogue

ROUNDS = 15


def chain(size: int) -> Document:
    """Digits, linear layers of different widths with activations, a loss and an optimizer."""
    layers = {"flatten": Node("nn.Flatten")}
    for index in range(max(size - 8, 2) // 2):
        layers[f"linear_{index}"] = Node("nn.Linear", {"out_features": 16 + index % 500})
        layers[f"relu_{index}"] = Node("nn.ReLU")
    layers["logits"] = Node("nn.Linear", {"out_features": 10})
    ends = [
        (Endpoint("digits", "samples"), Endpoint("scale", "samples")),
        (Endpoint("scale", "samples"), Endpoint("batches", "samples")),
        (Endpoint("batches", "input"), Endpoint("flatten", "input")),
        *((Endpoint(a, "output"), Endpoint(b, "input")) for a, b in pairwise(layers)),
        (Endpoint("logits", "output"), Endpoint("loss", "input")),
        (Endpoint("batches", "target"), Endpoint("loss", "target")),
        (Endpoint("loss", "loss"), Endpoint("adam", "loss")),
    ]
    head = {
        "digits": Node("data.Digits"),
        "scale": Node("transforms.Normalize", {"std": 16.0}),
        "batches": Node("data.Batches"),
    }
    tail = {"loss": Node("nn.CrossEntropyLoss"), "adam": Node("optim.Adam")}
    return Document(nodes={**head, **layers, **tail}, wires=tuple(sorted(Wire(*pair) for pair in ends)))


def edited(document: Document) -> Iterator[tuple[str, Document, Document]]:
    """Edits by kind, each with the document before and after."""
    middle = f"linear_{(len(document.nodes) - 8) // 4}"
    for number in range(ROUNDS):
        yield "parameter", document, edits.set_param(document, middle, "out_features", 600 + number)
        yield "move", document, edits.move(document, {middle: (8.0 * number, 8.0)})
        more = edits.add(document, f"extra_{number}", Node("nn.Tanh"))
        yield "node", document, more
        yield "wire", more, edits.connect(more, Wire(Endpoint(middle, "output"), Endpoint(f"extra_{number}", "input")))


def measure(document: Document) -> dict[str, list[float]]:
    types, checker = catalogue(), Checker()
    seconds: dict[str, list[float]] = {}
    for kind, before, after in [("from scratch", None, document), ("nothing", document, document), *edited(document)]:
        if before is not None:
            checker.check(before, types)
        start = time.perf_counter()
        checker.check(after, types)
        seconds.setdefault(kind, []).append(time.perf_counter() - start)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nodes", type=int, default=2000)
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    document = chain(options.nodes)
    if options.profile:
        profile, checker = cProfile.Profile(), Checker()
        checker.check(document, catalogue())
        for kind, _, after in edited(document):
            if kind == "parameter":
                profile.runcall(checker.check, after, catalogue())
        pstats.Stats(profile).sort_stats("tottime").print_stats(20)
        return
    print(f"{len(document.nodes):,} nodes, median of {ROUNDS}")
    for kind, seconds in measure(document).items():
        print(f"{kind:>14} {statistics.median(seconds) * 1000:8.1f} ms")


if __name__ == "__main__":
    main()
