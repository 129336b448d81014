"""Mistakes with the parts of a run, names, wires and blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from studio.document import edits
from studio.document.blocks.block_grouping import group
from studio.document.model import Document, Node
from studio.reference.mistakes.mistake import Goal, Mistake
from studio.reference.mistakes.projects import digits, wire

LEARNED = Goal("val_loss", 1.0, epochs=10, is_highest=True)


def sound(*, rate: float = 0.005, **more: str | Node) -> Document:
    """Digits by two layers."""
    layers: dict[str, str | Node] = {
        "flatten": "nn.Flatten",
        "hidden": Node("nn.Linear", {"out_features": 32}),
        "relu": "nn.ReLU",
        "logits": Node("nn.Linear", {"out_features": 10}),
    }
    return edits.add_all(
        digits(layers, adam=Node("optim.Adam", {"lr": rate})), {name: made(each) for name, each in more.items()}
    )


def made(node: str | Node) -> Node:
    """A node; a text stands for a node of that type."""
    return Node(node) if isinstance(node, str) else node


def changed(document: Document, name: str, **fields: Any) -> Document:
    """A document with other fields of one node."""
    return replace(document, nodes={**document.nodes, name: replace(document.nodes[name], **fields)})


def rewired(document: Document, removed: Iterable[str], added: Iterable[str] = ()) -> Document:
    """A document with other wires, which need not be valid."""
    wires = {*document.wires, *map(wire, added)} - set(map(wire, removed))
    return replace(document, wires=tuple(sorted(wires)))


# -- parts of a run ---------------------------------------------------------------------------


def _without(*names: str) -> Callable[[Path], Document]:
    return lambda _: edits.remove(sound(), names)


def _targets_of_another_loader(_: Path) -> Document:
    document = sound(more=Node("data.Batches"))
    removed = ["batches.target -> cross_entropy.target"]
    return rewired(document, removed, ["scale.samples -> more.samples", "more.target -> cross_entropy.target"])


def _two_batch_sizes(_: Path) -> Document:
    """Digits and points, joined in batches of 64 and of 32."""
    document = sound(
        moons="data.Moons",
        pairs=Node("data.Batches", {"batch_size": 32}),
        joined=Node("ops.cat", {"dim": 1}),
    )
    removed = ["relu.output -> logits.input"]
    added = (
        "moons.samples -> pairs.samples",
        "relu.output -> joined.a",
        "pairs.input -> joined.b",
        "joined.output -> logits.input",
    )
    return rewired(document, removed, added)


def _loss_of_each_sample(_: Path) -> Document:
    return edits.set_param(sound(), "cross_entropy", "reduction", "none")


def _all_frozen(_: Path) -> Document:
    document = changed(sound(), "hidden", frozen=True)
    return changed(document, "logits", frozen=True)


def _shared_by_another_type(_: Path) -> Document:
    return changed(sound(), "logits", shares="relu")


def _removed_layer_to_train(_: Path) -> Document:
    return changed(sound(), "adam", trains=("hidden", "logits", "output"))


def _untrained_layer(_: Path) -> Document:
    return changed(sound(), "adam", trains=("logits",))


def _removed_metric(_: Path) -> Document:
    return edits.set_training(sound(), follow="val_accuracy")


# -- names, wires and blocks ------------------------------------------------------------------


def _name(old: str, new: str) -> Callable[[Path], Document]:
    """A layer with a name that the editor refuses but a written file can have."""

    def plant(_: Path) -> Document:
        document = sound()
        nodes = {new if name == old else name: node for name, node in document.nodes.items()}
        wires = [str(each).replace(f"{old}.", f"{new}.") for each in document.wires]
        return replace(document, nodes=nodes, wires=tuple(sorted(map(wire, wires))))

    return plant


def _type_in_lower_case(_: Path) -> Document:
    return changed(sound(), "relu", type="nn.relu")


def _grouped() -> Document:
    """The two layers in a block, "Head", whose instance is "head"."""
    return group(sound(), ["hidden", "relu", "logits"], "Head")[0]


def _misspelled_block(_: Path) -> Document:
    document = _grouped()
    return changed(document, "head", type="block.Haed")


def _block_in_itself(_: Path) -> Document:
    """An instance of a block between the layers of the same block."""
    document = _grouped()
    block = document.blocks["Head"]
    end = next(str(each) for each in block.wires if each.source.node == "relu")
    wires = [str(each) for each in block.wires if str(each) != end]
    wires += ["relu.output -> again.input", end.replace("relu.output", "again.output")]
    inner = replace(block, nodes={**block.nodes, "again": Node("block.Head")}, wires=tuple(sorted(map(wire, wires))))
    return replace(document, blocks={**document.blocks, "Head": inner})


def _metric_in_a_block(_: Path) -> Document:
    """A metric that was moved into a block."""
    document = _grouped()
    block = document.blocks["Head"]
    inner = replace(block, nodes={**block.nodes, "accuracy": Node("metrics.Accuracy")})
    return replace(document, blocks={**document.blocks, "Head": inner})


def _repeated_too_often(_: Path) -> Document:
    """1,000 copies of a block of 60 layers."""
    document = sound(deep=Node("nn.Linear", {"out_features": 32}), tanh="nn.Tanh")
    added = ("relu.output -> deep.input", "deep.output -> tanh.input", "tanh.output -> logits.input")
    document = rewired(document, ["relu.output -> logits.input"], added)
    document = edits.set_param(group(document, ["deep", "tanh"], "Layer")[0], "layer", "repeat", 60)
    return edits.set_param(group(document, ["layer"], "Layers")[0], "layers", "repeat", 1000)


def _wire_of_a_removed_node(_: Path) -> Document:
    return rewired(sound(), [], ["dropout.output -> logits.input"])


def _second_wire(_: Path) -> Document:
    return rewired(sound(), [], ["flatten.output -> logits.input"])


def _missing(_: Path) -> Document:
    return rewired(sound(), ["relu.output -> logits.input"])


def _muted_loader(_: Path) -> Document:
    return changed(sound(), "batches", muted=True)


def _unconnected_dropout(_: Path) -> Document:
    return sound(dropout="nn.Dropout")


def _state_of_the_same_step(_: Path) -> Document:
    """A cell that reads the state that it computes."""
    document = sound(cell=Node("nn.GRUCell", {"hidden_size": 32}))
    added = ("relu.output -> cell.input", "cell.output -> cell.hx", "cell.output -> logits.input")
    return rewired(document, ["relu.output -> logits.input"], added)


def _backward_skip(_: Path) -> Document:
    """A skip connection from behind a layer to the sum before it."""
    document = sound(added="ops.add", deep=Node("nn.Linear", {"out_features": 32}), tanh="nn.Tanh")
    added = (
        "relu.output -> added.x",
        "tanh.output -> added.y",
        "added.output -> deep.input",
        "deep.output -> tanh.input",
        "tanh.output -> logits.input",
    )
    return rewired(document, ["relu.output -> logits.input"], added)


PARTS: tuple[Mistake, ...] = (
    Mistake("nothing_on_the_canvas", "empty", None, lambda _: Document(), has_fix=False),
    Mistake("no_data_source", "no-data", None, _without("digits", "scale"), has_fix=False),
    Mistake("no_loader", "no-loader", None, _without("batches"), goal=LEARNED),
    Mistake("no_loss", "no-loss", None, _without("cross_entropy"), goal=LEARNED),
    Mistake("no_optimizer", "no-optimizer", None, _without("adam"), goal=LEARNED),
    Mistake("targets_of_another_loader", "several-loaders", "cross_entropy", _targets_of_another_loader, goal=LEARNED),
    Mistake("two_batch_sizes", "batch-sizes", "pairs", _two_batch_sizes, goal=LEARNED),
    Mistake("loss_of_each_sample", "loss-not-scalar", "cross_entropy", _loss_of_each_sample, goal=LEARNED),
    Mistake("all_layers_frozen", "nothing-to-train", "adam", _all_frozen, goal=LEARNED),
    Mistake("weights_of_another_type", "shared-weights", "logits", _shared_by_another_type, goal=LEARNED),
    Mistake("removed_layer_to_train", "unknown-layer", "adam", _removed_layer_to_train, goal=LEARNED),
    Mistake("layer_without_optimizer", "left-alone", "hidden", _untrained_layer, goal=LEARNED),
    Mistake("removed_metric", "unknown-figure", None, _removed_metric, goal=LEARNED),
    Mistake("name_with_a_space", "bad-name", "first layer", _name("hidden", "first layer"), goal=LEARNED),
    Mistake("name_of_a_method", "reserved-name", "forward", _name("hidden", "forward"), goal=LEARNED),
    Mistake("type_in_lower_case", "unknown-type", "relu", _type_in_lower_case, goal=LEARNED),
    Mistake("misspelled_block", "unknown-block", "head", _misspelled_block, goal=LEARNED),
    Mistake("block_in_itself", "recursive-block", "head.again", _block_in_itself, goal=LEARNED),
    Mistake("metric_in_a_block", "misplaced-node", "head.accuracy", _metric_in_a_block),
    Mistake("repeated_too_often", "too-many-nodes", "layers", _repeated_too_often),
    Mistake("wire_of_a_removed_node", "stray-wire", "logits", _wire_of_a_removed_node, goal=LEARNED),
    Mistake("second_wire_at_an_input", "stray-wire", "logits", _second_wire, goal=LEARNED),
    Mistake("layer_without_an_input", "missing-wire", "logits", _missing, goal=LEARNED),
    Mistake("muted_loader", "muted-source", "batches", _muted_loader, goal=LEARNED),
    Mistake("unconnected_dropout", "not-wired", "dropout", _unconnected_dropout, goal=LEARNED),
    Mistake("state_of_the_same_step", "cycle", "cell", _state_of_the_same_step, goal=LEARNED),
    Mistake("backward_skip_connection", "cycle", "added", _backward_skip, goal=LEARNED),
)

__all__ = ["LEARNED", "PARTS", "changed", "rewired", "sound"]
