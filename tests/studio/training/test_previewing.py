"""Samples to look at, before and after a node, are those of training."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from PIL import Image

from engine.errors import DataError
from studio.document import edits
from studio.document.model import Document, Node, TrainingSettings
from studio.lowering.analysis.node_graph import NodeGraph
from studio.lowering.check import check
from studio.lowering.program import lower
from studio.nodes.catalogue import catalogue
from studio.training.data.data_chain import ChainOpener, DataProblem, chain_to, data_node_for_selection
from studio.training.data.sample_display import SMALL, Scale
from studio.training.data.sample_preview import SampleSelection
from tests.studio.lowering import graphs
from tests.studio.training.data_documents import arrays, chained, previewed


def graph(document: Document) -> NodeGraph:
    return NodeGraph(document, catalogue())


# -- which node -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("selection", "node"),
    [
        ({"digits"}, "digits"),
        ({"scale"}, "scale"),
        ({"relu"}, "batches"),
        ({"adam", "cross_entropy"}, "batches"),
        (set[str](), "batches"),
    ],
)
def test_a_selection_is_about_the_nearest_data_before_it(selection: set[str], node: str) -> None:
    assert data_node_for_selection(graph(graphs.mlp()), selection) == node


def test_without_a_loader_the_last_data_count_and_without_data_nothing() -> None:
    assert data_node_for_selection(graph(chained("data.Digits", "transforms.Normalize")), ()) == "b"
    assert data_node_for_selection(graph(graphs.document({"relu": "nn.ReLU"})), {"relu"}) is None


def test_muted_nodes_are_left_out() -> None:
    made = edits.set_flag(chained("data.Digits", "transforms.Normalize", "transforms.ToFloat"), ["b"], muted=True)
    assert [link.name for link in chain_to("c", made, graph(made), None)] == ["a", "c"]
    assert [link.name for link in chain_to("b", made, graph(made), None)] == ["a"]


# -- what it gives ----------------------------------------------------------------------------


def test_before_and_after_are_what_the_transform_gets_and_gives() -> None:
    preview = previewed(chained("data.Digits", Node("transforms.Normalize", {"mean": 4.0, "std": 2.0})))
    assert preview.facts.pairs
    samples = preview.fetch(SampleSelection("validation"), 5, 3)
    inputs, targets = preview.splits[0].validation.arrays(np.arange(5, 8))  # pyright: ignore[reportOptionalMemberAccess]
    for place, sample in enumerate(samples):
        assert sample.row == 5 + place
        assert sample.before is not None and sample.input is not None
        np.testing.assert_array_equal(sample.before, inputs[place])
        np.testing.assert_allclose(sample.input, (inputs[place] - 4.0) / 2.0)
        assert sample.label == str(targets[place])


def test_targets_are_shown_before_and_after_too() -> None:
    preview = previewed(chained("data.Digits", Node("transforms.OneHot", {"on": "targets"})))
    [sample] = preview.fetch(SampleSelection(), 7, 1)
    assert not preview.facts.pairs
    assert sample.before is None
    assert sample.target_before is not None and sample.target is not None
    assert sample.target.argmax() == sample.target_before


def test_augmented_samples_are_those_that_training_draws(tmp_path: Path) -> None:
    images = np.random.default_rng(0).random((40, 1, 8, 8)).astype(np.float32)
    source = arrays(tmp_path, images, np.arange(40) % 2)
    made = chained(source, "transforms.RandomAffine", "transforms.RandomErasing", loader=True)
    nodes = {**made.nodes, "c": Node("transforms.RandomErasing", {"p": 1.0})}
    tail = graphs.document({"flat": "nn.Flatten", "out": Node("nn.Linear", {"out_features": 2})})
    rest = {"loss": Node("nn.CrossEntropyLoss"), "adam": Node("optim.Adam")}
    wires = ["d.input -> flat.input", "flat.output -> out.input", "out.output -> loss.input"]
    wires += ["d.target -> loss.target", "loss.loss -> adam.loss"]
    whole = replace(
        made,
        nodes={**nodes, **tail.nodes, **rest},
        wires=tuple(sorted([*made.wires, *map(graphs.wire, wires)])),
        training=TrainingSettings(seed=7),
    )
    loader = lower(check(whole, catalogue())).build(seed=7).setup().train
    preview = previewed(whole, "d")
    assert preview.facts.varies
    for epoch in (0, 3):
        loader.set_epoch(epoch, 7)
        drawn = {image.numpy().tobytes() for batch in loader for image in batch[0]}
        shown = preview.fetch(SampleSelection(draw=epoch), 0, 40)
        assert {sample.input.tobytes() for sample in shown if sample.input is not None} == drawn
    one, other = (preview.fetch(SampleSelection("validation", draw=draw), 0, 4) for draw in (0, 1))
    assert all(np.array_equal(a.input, b.input) for a, b in zip(one, other, strict=True))  # pyright: ignore[reportArgumentType]


def test_samples_of_one_class() -> None:
    preview = previewed(chained("data.Digits"))
    look = SampleSelection(category=3)
    samples = preview.fetch(look, 0, 10_000)
    assert len(samples) == preview.count(look) == 151
    assert {sample.label for sample in samples} == {"3"}
    assert preview.fetch(look, 150, 10)[0].row == samples[-1].row
    assert preview.count(SampleSelection(category=77)) == 0


def test_an_image_that_does_not_decode_is_shown_beside_the_others(tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        for number in range(3):
            Image.new("RGB", (600, 300), "red").save(tmp_path / name / f"{number}.png")
    (tmp_path / "cat" / "1.png").write_bytes(b"no image")
    preview = previewed(chained(Node("data.ImageFolder", {"folder": str(tmp_path), "validation": 0.0})))
    good, bad, *_ = preview.fetch(SampleSelection(), 0, 6)
    assert "1.png" in bad.problem and bad.input is None
    assert good.problem == "" and good.label == "cat"
    assert good.input is not None and good.input.shape == (3, SMALL // 2, SMALL)
    [whole] = preview.fetch(SampleSelection(), 0, 1, small=False)
    assert whole.input is not None and whole.input.shape == (3, 300, 600)


@pytest.mark.parametrize(
    ("shape", "dtype", "kind"),
    [
        ((1, 8, 8), "uint8", "images"),
        ((28, 28), "float32", "images"),
        ((9, 12, 3), "float32", "images"),
        ((50, 2), "float32", "series"),
        ((6,), "float32", "vectors"),
        ((), "float32", "vectors"),
        ((2, 3, 4, 5), "float32", "vectors"),
    ],
)
def test_the_kind_depends_on_the_shape(tmp_path: Path, shape: tuple[int, ...], dtype: str, kind: str) -> None:
    source = arrays(tmp_path, np.ones((10, *shape), dtype), np.arange(10) % 2)
    preview = previewed(chained(source))
    assert preview.facts.kind == kind
    [sample] = preview.fetch(SampleSelection(), 0, 1)
    assert sample.input is not None


def test_tables_and_texts_name_their_numbers(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,kind,y\n1,a,0\n2,b,1\n3,a,0\n4,b,1\n5,a,1\n")
    table = Node("data.CSV", {"path": "t.csv", "target": "y", "categorical": "kind", "validation": 0.0})
    facts = previewed(chained(table, Node("transforms.Normalize")), base=tmp_path).facts
    assert facts.kind == "table"
    assert facts.columns == ("age", "kind=a", "kind=b")
    (tmp_path / "t.txt").write_text("to be or not to be " * 9)
    facts = previewed(
        chained(Node("data.Text", {"path": "t.txt", "length": 8, "validation": 0.0})), base=tmp_path
    ).facts
    assert facts.kind == "text"
    assert "b" in facts.vocabulary
    assert facts.class_names == ()


def test_long_samples_are_reduced_where_many_are_shown(tmp_path: Path) -> None:
    source = arrays(tmp_path, np.zeros((4, 100_000), np.float32), np.arange(4) % 2)
    preview = previewed(chained(source))
    [sample] = preview.fetch(SampleSelection(), 0, 1)
    assert sample.input is not None and sample.input.size <= 4096
    [whole] = preview.fetch(SampleSelection(), 0, 1, small=False)
    assert whole.input is not None and whole.input.size == 100_000


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        (np.array([0, 200], np.uint8), Scale(0, 255)),
        (np.array([0, 16], np.uint8), Scale(0, 16)),
        (np.array([0.1, 0.9]), Scale(0, 1)),
        (np.array([-2.0, 3.0, np.nan, np.inf]), Scale(-2, 3)),
        (np.array([5.0, 5.0]), Scale(5, 6)),
        (np.array([np.nan]), Scale(0, 1)),
    ],
)
def test_what_is_dark_and_bright(values: np.ndarray, scale: Scale) -> None:
    assert Scale.of([values]) == scale


# -- opening ----------------------------------------------------------------------------------


def test_what_did_not_change_is_not_opened_again(tmp_path: Path) -> None:
    source = arrays(tmp_path, np.ones((10, 3)), np.arange(10) % 2)
    one = chained(source, Node("transforms.Normalize"), Node("transforms.Clip"))
    other = edits.set_param(one, "c", "high", 5.0)
    opener = ChainOpener()
    first, second = (opener.open(chain_to("c", made, graph(made), None)) for made in (one, other))
    assert first[:2] == second[:2]
    assert first[2] is not second[2]
    before = len(first[0].train)
    arrays(tmp_path, np.ones((12, 3)), np.arange(12) % 2)
    third = opener.open(chain_to("c", one, graph(one), None))
    assert third[0] is not first[0]
    assert len(third[0].train) > before
    with pytest.raises(DataError, match="changed after it was opened"):
        _ = first[0].train


def test_sources_that_were_left_are_let_go() -> None:
    opener = ChainOpener()
    documents = [chained(Node("data.Moons", {"seed": seed}), "transforms.Clip") for seed in range(4)]
    opened = [weakref.ref(opener.open(chain_to("b", made, graph(made), None))[0]) for made in documents]
    gc.collect()
    assert [each() is not None for each in opened] == [False, False, True, True]


@pytest.mark.parametrize(
    ("made", "node", "words"),
    [
        (chained(Node("data.CSV", {"path": "gone.csv", "target": "y"})), "a", "gone.csv"),
        (chained("data.CSV"), "a", "path"),
        (chained("data.Digits", Node("transforms.CenterCrop", {"size": [0]})), "b", "size"),
        (graphs.document({"b": "transforms.Normalize"}), "b", "b.samples"),
        (chained("data.Digits", Node("transforms.Normalize", {"mean": [1.0, 2.0]})), "b", "2 channels"),
    ],
)
def test_what_is_wrong_is_said_with_its_node(made: Document, node: str, words: str) -> None:
    with pytest.raises(DataProblem, match=words) as caught:
        _ = previewed(made, node).facts
    assert caught.value.node == node


def test_a_loop_ends() -> None:
    wires = ["a.samples -> b.samples", "b.samples -> a.samples"]
    made = graphs.document({"a": "transforms.Clip", "b": "transforms.Clip"}, wires)
    with pytest.raises(DataProblem, match="cycle"):
        previewed(made, "a")
