"""Random documents and random sequences of edits, for every test that states a law about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import get_args

from hypothesis import strategies as st

from studio.document import edits, frames, node_clipboard, weight_sharing, wire_routes
from studio.document.blocks import block_edits, block_nodes
from studio.document.blocks.block_grouping import group, unpack
from studio.document.document_errors import EditError
from studio.document.model import (
    Block,
    BlockOrigin,
    Document,
    Endpoint,
    Frame,
    FrameColor,
    ImportedWeights,
    Json,
    Node,
    ParamRef,
    RenameRule,
    Routes,
    TrainingSettings,
    Wire,
)
from studio.document.node_names import problem as name_problem

TYPES = ("nn.Linear", "nn.ReLU", "studio.Python", "data.Digits", "optim.Adam", "gone.Layer2077", "ünknown type")
BLOCKS = ("inner", "outer", "same")
PORTS = ("input", "target", "output", "loss", "größe")

# Few short names, so that random edits meet nodes that exist.
node_names = st.one_of(
    st.sampled_from(["a", "b", "c", "linear", "linear_2", "größe", "層"]),
    st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(lambda name: name_problem(name) is None),
)

texts = st.text(max_size=30)
integers = st.integers(-(2**63), 2**64 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
coordinates = st.one_of(st.integers(-500, 500).map(lambda n: 8.0 * n), st.floats(-1e7, 1e7))
places = st.tuples(coordinates, coordinates)

json_values: st.SearchStrategy[Json] = st.recursive(
    st.one_of(st.none(), st.booleans(), integers, floats, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
param_names = st.one_of(st.sampled_from(["bias", "out_features", "lr", "source"]), texts)

nodes = st.builds(
    Node,
    type=st.sampled_from(TYPES),
    params=st.dictionaries(param_names, json_values, max_size=3),
    at=places,
    muted=st.booleans(),
    frozen=st.booleans(),
    collapsed=st.booleans(),
    note=st.one_of(st.just(""), texts),
    dismissed=st.sampled_from([(), (), ("not-shuffled",), ("unused", "not-shuffled")]),
    shares=st.sampled_from(["", "", "", "a", "b", "linear"]),
)
instances = st.builds(
    Node,
    type=st.sampled_from(BLOCKS).map(block_nodes.type_of),
    params=st.dictionaries(st.sampled_from(["p0", "p1", block_nodes.REPEAT]), st.integers(1, 3), max_size=2),
    at=places,
    muted=st.booleans(),
)
frame_names = st.sampled_from(["frame", "frame_2", "größe"])
extents = st.one_of(st.integers(4, 200).map(lambda n: 8.0 * n), st.floats(32, 1e7))
sizes = st.tuples(extents, extents)
titles = st.one_of(st.just(""), texts)
colors = st.sampled_from(get_args(FrameColor))
some_frames = st.dictionaries(
    frame_names, st.builds(Frame, title=titles, text=titles, color=colors, at=places, size=sizes), max_size=2
)
trainings = st.builds(
    TrainingSettings,
    epochs=st.integers(1, 2**31 - 1),
    seed=st.integers(0, 2**63 - 1),
    device=st.sampled_from(["auto", "cpu", "cuda"]),
    compile=st.booleans(),
)
tags = st.one_of(st.just(()), st.lists(texts, max_size=2).map(tuple))
origins = st.builds(
    BlockOrigin, library=st.sampled_from(["shipped", "user"]), name=st.sampled_from(BLOCKS), digest=texts
)

WEIGHTS = ImportedWeights("model.pt", "model", (RenameRule(r"^module\."), RenameRule("γ$", "weight")), ("c_attn",))


@st.composite
def graphs(draw: st.DrawFn, kinds: st.SearchStrategy[Node], max_nodes: int) -> tuple[dict[str, Node], tuple[Wire, ...]]:
    """Nodes and wires between any of their ports: cycles, unknown types and unicode included."""
    members = draw(st.dictionaries(node_names, kinds, max_size=max_nodes))
    wires: dict[Endpoint, Wire] = {}
    if members:
        ends = st.builds(Endpoint, node=st.sampled_from(list(members)), port=st.sampled_from(PORTS))
        for wire in draw(st.lists(st.builds(Wire, source=ends, target=ends), max_size=2 * max_nodes)):
            wires[wire.target] = wire
    return members, tuple(sorted(wires.values()))


@st.composite
def definitions(draw: st.DrawFn) -> Block:
    """A block with some ports and promoted parameters; it may contain itself."""
    inner = st.one_of(nodes, st.builds(Node, type=st.sampled_from([block_nodes.INPUT, block_nodes.OUTPUT])), instances)
    members, wires = draw(graphs(inner, 5))
    refs = [ParamRef(name, param) for name in members for param in ("bias", "out_features")]
    promoted = draw(st.lists(st.sampled_from(refs), unique=True, max_size=3)) if refs else []
    params = {f"p{index}": (ref,) for index, ref in enumerate(promoted)}
    origin = draw(st.none() | origins)
    return Block(members, wires, params, draw(texts), draw(tags), origin, draw(some_frames), draw(routes_of(wires)))


@st.composite
def routes_of(draw: st.DrawFn, wires: tuple[Wire, ...]) -> Routes:
    """Reroute points of some of these wires."""
    points = st.lists(places, min_size=1, max_size=2).map(tuple)
    return {wire.target: draw(points) for wire in wires if draw(st.integers(0, 3)) == 0}


@st.composite
def documents(draw: st.DrawFn, max_nodes: int = 6) -> Document:
    """Any document that a file can hold."""
    members, wires = draw(graphs(st.one_of(nodes, nodes, instances), max_nodes))
    training = draw(st.one_of(st.just(TrainingSettings()), trainings))
    defined = draw(st.one_of(st.just({}), st.dictionaries(st.sampled_from(BLOCKS), definitions(), max_size=3)))
    description = draw(titles)
    weights = draw(st.none() | st.just(WEIGHTS))
    return Document(
        members, wires, training, description, defined, draw(some_frames), draw(routes_of(wires)), weights=weights
    )


@dataclass(frozen=True)
class Edit:
    """A random edit. What it says can be wrong for the document it meets; then it changes nothing."""

    title: str
    function: Callable[[Document], Document]
    merge_key: str | None = None

    def __call__(self, document: Document) -> Document:
        try:
            return self.function(document)
        except EditError:
            return document

    def __repr__(self) -> str:
        return self.title


@st.composite
def edit(draw: st.DrawFn) -> Edit:
    """One edit of any kind. Nodes are chosen by position where it matters, so that most edits do something."""
    title = draw(st.sampled_from(list(_KINDS)))
    function, arguments = _KINDS[title]
    values = [draw(argument) for argument in arguments]
    merge_key = draw(st.sampled_from([None, None, "drag"]))
    return Edit(f"{title}{tuple(values)!r}", lambda document: function(document, *values), merge_key)


edit_sequences = st.lists(edit(), max_size=25)


def _at(document: Document, index: int) -> str:
    """Some node; a name that is not there if there is none."""
    return list(document.nodes)[index % len(document.nodes)] if document.nodes else "nobody"


def _some(document: Document, indices: list[int]) -> list[str]:
    return [_at(document, index) for index in indices]


def _wire(document: Document, source: int, output: str, target: int, input: str) -> Wire:
    return Wire(Endpoint(_at(document, source), output), Endpoint(_at(document, target), input))


def _disconnect(document: Document, index: int) -> Document:
    return edits.disconnect(document, [document.wires[index % len(document.wires)]] if document.wires else [])


def _duplicate(document: Document, indices: list[int], place: tuple[float, float], with_inputs: bool) -> Document:
    return node_clipboard.paste(document, node_clipboard.copy(document, _some(document, indices)), place, with_inputs)[
        0
    ]


def _frame_at(document: Document, index: int) -> str:
    """Some frame; a name that is not there if there is none."""
    return list(document.frames)[index % len(document.frames)] if document.frames else "nothing"


def _rerouted(document: Document, index: int, points: list[tuple[float, float]]) -> Document:
    target = document.wires[index % len(document.wires)].target if document.wires else Endpoint("nobody", "input")
    return wire_routes.set_route(document, target, points)


def _inner_edit(view: Document, kind: str, index: int, name: str) -> Document:
    node = _at(view, index)
    if kind == "rename":
        return edits.rename(view, node, name)
    return edits.remove(view, [node]) if kind == "remove" else _duplicate(view, [index], (0.0, 0.0), True)


_index = st.integers(0, 50)
_block = st.sampled_from(BLOCKS)
_indices = st.lists(_index, max_size=4)
_port = st.sampled_from(PORTS)
_flag = st.one_of(st.none(), st.booleans())

_KINDS: dict[str, tuple[Callable[..., Document], tuple[st.SearchStrategy[object], ...]]] = {
    "add": (edits.add, (node_names, nodes)),
    "add fresh": (lambda d, base, node: edits.add(d, edits.unique_name(d, base), node), (texts, nodes)),
    "remove": (lambda d, indices: edits.remove(d, _some(d, indices)), (_indices,)),
    "rename": (lambda d, index, new: edits.rename(d, _at(d, index), new), (_index, node_names)),
    "move": (lambda d, indices, at: edits.move(d, dict.fromkeys(_some(d, indices), at)), (_indices, places)),
    "connect": (lambda d, *wire: edits.connect(d, _wire(d, *wire)), (_index, _port, _index, _port)),
    "disconnect": (_disconnect, (_index,)),
    "set parameter": (
        lambda d, index, param, value: edits.set_param(d, _at(d, index), param, value),
        (_index, param_names, json_values),
    ),
    "group": (
        lambda d, indices: group(d, _some(d, indices), block_edits.free_block_name(d, "same"))[0],
        (st.lists(_index, min_size=1, max_size=4),),
    ),
    "group in a block": (
        lambda d, block, indices: group(
            d, _some(block_edits.view(d, block), indices), block_edits.free_block_name(d, "same"), inside=block
        )[0],
        (_block, st.lists(_index, min_size=1, max_size=3)),
    ),
    "unpack in a block": (
        lambda d, block, index: unpack(d, _at(block_edits.view(d, block), index), inside=block)[0],
        (_block, _index),
    ),
    "unpack": (lambda d, index: unpack(d, _at(d, index))[0], (_index,)),
    "make unique": (lambda d, index: block_edits.make_unique(d, _at(d, index)), (_index,)),
    "rename a block": (block_edits.rename_block, (_block, st.sampled_from([*BLOCKS, "other"]))),
    "remove a block": (block_edits.remove_block, (_block,)),
    "edit a block": (
        lambda d, block, kind, first, second: block_edits.edit_block(
            d, block, lambda view: _inner_edit(view, kind, first, second)
        ),
        (_block, st.sampled_from(["rename", "remove", "copy"]), _index, node_names),
    ),
    "promote": (
        lambda d, block, index, param: block_edits.promote(
            d, block, ParamRef(_at(block_edits.view(d, block), index), param)
        ),
        (_block, _index, st.sampled_from(["bias", "out_features"])),
    ),
    "demote": (block_edits.demote, (_block, st.sampled_from(["p0", "p1"]))),
    "rename a promoted parameter": (block_edits.rename_param, (_block, st.sampled_from(["p0", "p1"]), node_names)),
    "clear parameter": (lambda d, index, param: edits.clear_param(d, _at(d, index), param), (_index, param_names)),
    "set flags": (
        lambda d, indices, muted, frozen, collapsed: edits.set_flag(
            d, _some(d, indices), muted=muted, frozen=frozen, collapsed=collapsed
        ),
        (_indices, _flag, _flag, _flag),
    ),
    "share weights": (
        lambda d, indices, index: weight_sharing.share(d, _some(d, indices), _at(d, index)),
        (_indices, _index),
    ),
    "use separate weights": (lambda d, indices: weight_sharing.unshare(d, _some(d, indices)), (_indices,)),
    "set note": (lambda d, index, note: edits.set_note(d, _at(d, index), note), (_index, texts)),
    "set training": (lambda d, epochs, seed: edits.set_training(d, epochs=epochs, seed=seed), (st.integers(0, 9),) * 2),
    "set description": (edits.set_description, (texts,)),
    "add a frame": (
        lambda d, base, title, color, at, size: frames.add_frame(
            d, frames.free_frame_name(d, base), Frame(title, "", color, at, size)
        ),
        (frame_names, texts, colors, places, sizes),
    ),
    "change a frame": (
        lambda d, index, title, text, at: frames.change_frame(d, _frame_at(d, index), title=title, text=text, at=at),
        (_index, titles, titles, places),
    ),
    "remove a frame": (lambda d, index: frames.remove_frames(d, [_frame_at(d, index)]), (_index,)),
    "reroute a wire": (_rerouted, (_index, st.lists(places, max_size=3))),
    "duplicate": (_duplicate, (_indices, places, st.booleans())),
}
