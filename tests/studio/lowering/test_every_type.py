"""Each node type is checked, generated and run for one step in a suitable graph."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet

from engine import fit, inspect
from engine.shape import Dim, Spec
from studio.document.model import Document, Node
from studio.lowering import check, lower
from studio.nodes import NodeType, Role, catalogue
from tests.compiled import bitwise
from tests.studio.lowering.graphs import document

PARAMS: dict[str, dict[str, Any]] = {
    "nn.Linear": {"out_features": 6},
    **{f"nn.Conv{n}d": {"out_channels": 3, "kernel_size": 2} for n in (1, 2, 3)},
    **{f"nn.ConvTranspose{n}d": {"out_channels": 3, "kernel_size": 2} for n in (1, 2, 3)},
    **{f"nn.{kind}Pool{n}d": {"kernel_size": 2} for kind in ("Max", "Avg") for n in (1, 2, 3)},
    **{f"nn.LPPool{n}d": {"norm_type": 2, "kernel_size": 2} for n in (1, 2, 3)},
    **{f"nn.Adaptive{kind}Pool{n}d": {"output_size": 2} for kind in ("Max", "Avg") for n in (1, 2, 3)},
    **{
        f"nn.{kind}Pad{n}d": {"padding": 1}
        for kind in ("Zero", "Reflection", "Replication", "Circular")
        for n in (1, 2, 3)
    },
    **{f"nn.ConstantPad{n}d": {"padding": 1, "value": 0.5} for n in (1, 2, 3)},
    "nn.Upsample": {"scale_factor": 2},
    "nn.UpsamplingNearest2d": {"scale_factor": 2},
    "nn.UpsamplingBilinear2d": {"size": 5},
    "nn.GroupNorm": {"num_groups": 1},
    "nn.LocalResponseNorm": {"size": 2},
    "nn.Unfold": {"kernel_size": 2},
    "nn.Fold": {"output_size": 8, "kernel_size": 1},
    "nn.PixelShuffle": {"upscale_factor": 1},
    "nn.PixelUnshuffle": {"downscale_factor": 2},
    "nn.ChannelShuffle": {"groups": 1},
    "nn.Embedding": {"num_embeddings": 17, "embedding_dim": 3},
    "nn.Unflatten": {"dim": 3, "unflattened_size": [2, 4]},
    "nn.LayerNorm": {"normalized_shape": 8},
    "nn.Softmax": {"dim": 1},
    "nn.LogSoftmax": {"dim": 1},
    "nn.KLDivLoss": {"reduction": "batchmean"},
    "nn.Threshold": {"threshold": 0.1, "value": 0.0},
    "nn.MultiheadAttention": {"num_heads": 2},
    "nn.TransformerEncoderLayer": {"nhead": 2, "dim_feedforward": 8},
    "nn.TransformerDecoderLayer": {"nhead": 2, "dim_feedforward": 8},
    "nn.Transformer": {"d_model": 8, "nhead": 2, "num_encoder_layers": 1, "num_decoder_layers": 1},
    **{f"nn.{name}": {"hidden_size": 5} for name in ("RNN", "LSTM", "GRU")},
    **{f"nn.{name}Cell": {"hidden_size": 5} for name in ("RNN", "LSTM", "GRU")},
    "nn.EmbeddingBag": {"num_embeddings": 17, "embedding_dim": 3},
    "nn.Bilinear": {"in2_features": 8, "out_features": 3},
    "nn.RMSNorm": {"normalized_shape": 8},
    **{each.key: {"dim": 2} for each in catalogue() if each.role is Role.OPERATION and each.param("dim") is not None},
    "ops.pow": {"exponent": 2},
    "ops.clamp": {"min": 0},
    "ops.lerp": {"weight": 0.3},
    "ops.topk": {"k": 2},
    "ops.reshape": {"shape": [-1, 4, 16]},
    "ops.split_with_sizes": {"split_sizes": [3, 5], "dim": 2},
    "ops.chunk": {"chunks": 2, "dim": 2},
    "ops.unbind": {"outputs": 8, "dim": 2},
    "ops.einsum": {"equation": "nchw,nchv->nchwv"},
    "studio.Slice": {"index": ":, ..., 1:-1, -3"},
    "studio.Formula": {"expression": "x * sin(2 * y) + mean(x, dim=-1, keepdim=True) ** 2 - where(y > 0, x, -y)"},
    "ops.transpose": {"dim0": 2, "dim1": 3},
    "ops.permute": {"dims": [0, 2, 3, 1]},
    "ops.movedim": {"source": 1, "destination": -1},
    "ops.squeeze": {"dim": 1},
    "Tensor.expand": {"size": [-1, 3, -1, -1]},
    "Tensor.repeat": {"repeats": [1, 1, 2, 1]},
    "ops.repeat_interleave": {"repeats": 2, "dim": 2},
    "ops.flip": {"dims": [2]},
    "ops.roll": {"shifts": 1, "dims": 2},
    "ops.rot90": {"dims": [2, 3]},
    "functional.pad": {"pad": [1, 1]},
    "functional.interpolate": {"scale_factor": 2},
    "functional.grid_sample": {"align_corners": False},
    "ops.select": {"dim": 2, "index": -1},
    "ops.narrow": {"dim": 2, "start": 1, "length": 4},
    "ops.masked_fill": {"value": 0},
    "functional.one_hot": {"num_classes": 8},
    "ops.diagonal": {"dim1": 2, "dim2": 3},
    "linalg.cross": {"dim": 1},
    "linalg.matrix_power": {"n": 2},
    "ops.matrix_power": {"n": 2},
    "Tensor.to": {"dtype": "float64"},
    "nn.Halves": {"dim": 2},
    "nn.CTCLoss": {"blank": 10},
    "nn.SplitHeads": {"num_heads": 2},
    "nn.CarriedState": {"size": [1, 8, 8]},
    "nn.LearnedTensor": {"size": [1, 8]},
    "nn.RangeTensor": {"end": 8, "dtype": "float"},
    "nn.LinspaceTensor": {"steps": 8},
    "nn.IdentityMatrix": {"rows": 8},
    "lr_scheduler.StepLR": {"step_size": 2},
    "lr_scheduler.MultiStepLR": {"milestones": [2, 4]},
    "lr_scheduler.ExponentialLR": {"gamma": 0.9},
    "lr_scheduler.CosineAnnealingWarmRestarts": {"T_0": 2},
    "lr_scheduler.CyclicLR": {"base_lr": 0.001, "max_lr": 0.01},
    "lr_scheduler.OneCycleLR": {"max_lr": 0.01},
    "transforms.OneHot": {"on": "targets"},
    "transforms.LabelEncode": {"on": "targets", "labels": list(range(10))},
    "transforms.RandomResizedCrop": {"size": 8},
    "data.CSV": {"path": "table.csv", "target": "kind"},
    "data.IDX": {"folder": "images"},
    "data.CIFAR": {"folder": "cifar"},
    "data.ImageFolder": {"folder": "photos", "channels": "grey"},
    "data.ImageList": {"path": "photos/list.csv", "channels": "grey"},
    "data.NPY": {"path": "arrays.npz"},
    "data.Text": {"path": "text.txt", "length": 8, "validation": 0.0},
    "data.Shakespeare": {"length": 8},
    "data.WebDataset": {"folder": "shards", "channels": "grey"},
    "data.Parquet": {"path": "table.parquet", "target": "kind"},
    "data.JSONLines": {"path": "table.jsonl", "target": "kind"},
}
"""What has no default, for images of 1×8×8."""

OPEN = {"data.ImageFolder", "data.ImageList", "data.WebDataset"}
"""Sources of images that differ in size."""

NUMBERS = {"data.Regression": 1, "data.MackeyGlass": 1, "data.Shakespeare": 8, "data.Sequences": 1, "data.Text": 8}
"""Sources with N target numbers."""

FLAT = {"nn.BatchNorm1d", "nn.Dropout1d", "nn.EmbeddingBag", "nn.RNNCell", "nn.LSTMCell", "nn.GRUCell"}
"""Layers that take vectors."""

SEQUENCES = {
    "nn.SplitHeads",
    "nn.Positions",
    "nn.CausalMask",
    "nn.MultiheadAttention",
    "nn.TransformerEncoderLayer",
    "nn.TransformerDecoderLayer",
    "nn.Transformer",
    "nn.RNN",
    "nn.LSTM",
    "nn.GRU",
    "nn.ClassToken",
    "nn.LearnedPositions",
    "nn.SinusoidalPositions",
    "nn.LastStep",
}
"""Layers that take sequences; the rows of an image are the steps."""

WITHOUT_BATCH = {"nn.Positions", "nn.CausalMask", "nn.PaddingMask"}
"""Layers whose output is a mask or has no batch dimension."""

WHOLE_NUMBERS = {"nn.Embedding", "nn.EmbeddingBag"}
CLASS_JUDGES = {
    "nn.CrossEntropyLoss",
    "nn.NLLLoss",
    "nn.MultiMarginLoss",
    "nn.CosineEmbeddingLoss",
    "metrics.Accuracy",
    "metrics.ConfusionMatrix",
    "metrics.F1",
    "metrics.Perplexity",
    "metrics.Precision",
    "metrics.Recall",
    "metrics.TopKAccuracy",
}

TAIL: dict[str, str | Node] = {
    "flat": "nn.Flatten",
    "scores": Node("nn.Linear", {"out_features": 10}),
    "entropy": "nn.CrossEntropyLoss",
    "adam": "optim.Adam",
}
JUDGED = [
    "scores.output -> entropy.input",
    "batches.target -> entropy.target",
    "entropy.loss -> adam.loss",
]
HEAD: dict[str, str | Node] = {
    "digits": "data.Digits",
    "scale": Node("transforms.Normalize", {"std": 16.0}),
    "batches": Node("data.Batches", {"batch_size": 16}),
}
FED = ["digits.samples -> scale.samples", "scale.samples -> batches.samples"]
CONV = Node("nn.Conv2d", {"out_channels": 1, "kernel_size": 3, "padding": 1})


def layer(node: Node) -> Document:
    before = {"before": _shaped_for(node.type)}
    samples = ["digits.samples -> batches.samples"] if node.type in WHOLE_NUMBERS else FED
    head = {name: HEAD[name] for name in HEAD if name != "scale" or node.type not in WHOLE_NUMBERS}
    ports = catalogue()[node.type]
    output, joined = f"it.{ports.outputs[0].name}", dict[str, Node]()
    wires = ["batches.input -> before.input"]
    if node.type in WITHOUT_BATCH:
        joined = {"joined": Node("ops.maximum")}
        wires += ["before.output -> joined.x", f"{output} -> joined.y"]
        output = "joined.output"
    wires += [f"{output} -> flat.input"]
    is_alone = all(port.optional for port in ports.inputs)
    wires += [f"before.output -> it.{port.name}" for port in ports.inputs if is_alone or not port.optional]
    return document(
        {**head, **before, "it": node, **joined, **TAIL}, [*samples, *wires, "flat.output -> scores.input", *JUDGED]
    )


def _shaped_for(key: str) -> Node:
    """What makes of 1×8×8 the dimensions that a layer takes."""
    if key in FLAT:
        return Node("nn.Flatten")
    if key in SEQUENCES:
        return Node("nn.Flatten", {"start_dim": 1, "end_dim": 2})
    if key.endswith("1d") or key == "nn.Fold":
        return Node("nn.Flatten", {"start_dim": 2})
    return Node("nn.Unflatten", {"dim": 3, "unflattened_size": [2, 4]}) if key.endswith("3d") else Node("nn.Identity")


INPUTS: dict[str, dict[str, str | Node]] = {
    "shares": {"shares": "nn.Sigmoid"},
    "above": {"shares": "nn.Sigmoid", "above": "ops.exp"},
    "mask": {"mask": Node("ops.gt", {"y": 0})},
    "indices": {"indices": Node("ops.argsort", {"dim": 2})},
    "classes": {"classes": Node("ops.argmax", {"dim": 2})},
    "rows": {"rows": Node("nn.Flatten", {"start_dim": 1, "end_dim": 2})},
    "numbers": {"numbers": Node("ops.reshape", {"shape": [-1]})},
    "steps": {
        "rows": Node("ops.reshape", {"shape": [-1, 8]}),
        "totals": Node("ops.sum", {"dim": 0}),
        "steps": Node("ops.argsort", {"dim": 0}),
    },
    "colors": {"colors": Node("Tensor.repeat", {"repeats": [1, 3, 1, 1]})},
    "grid": {"grid": Node("ops.reshape", {"shape": [-1, 4, 8, 2]})},
    "matrix": {"powers": "ops.square", "logs": "ops.log1p", "matrix": Node("ops.diag_embed")},
}
"""Chains of nodes behind a convolution that give special inputs of operations."""

CHAINS: dict[str, str] = {
    **{
        f"ops.{name}": "shares" for name in ("log", "log2", "log10", "sqrt", "rsqrt", "logit", "erfinv", "asin", "acos")
    },
    **{f"ops.{name}": "shares" for name in ("atanh", "pow", "lgamma", "digamma", "xlogy", "log1p", "prod", "cumprod")},
    **{f"ops.{name}": "shares" for name in ("remainder", "floor_divide", "hypot", "div", "reciprocal", "addcdiv")},
    "linalg.vector_norm": "shares",
    "ops.acosh": "above",
    "functional.one_hot": "classes",
    "ops.bmm": "rows",
    "ops.outer": "numbers",
    "linalg.cross": "colors",
    **{f"ops.{name}": "matrix" for name in ("det", "logdet", "inverse")},
    **{f"linalg.{name}": "matrix" for name in ("cholesky", "solve")},
    "condition": "mask",
    "mask": "mask",
    "indices": "indices",
    "index": "indices",
    "ops.index_select.index": "steps",
    "grid": "grid",
}
"""The chain by operation, by input, or by both."""


def operation(node: Node) -> Document:
    kind = catalogue()[node.type]
    nodes: dict[str, str | Node] = {"a": CONV, "b": CONV}
    wires = ["batches.input -> a.input", "batches.input -> b.input"]
    if kind.adapt is not None:
        kind = kind.adapt(kind, node.params, {port.name for port in kind.inputs})
    for index, port in enumerate(port for port in kind.inputs if not port.optional and port.name not in node.params):
        by_port = CHAINS.get(port.name, CHAINS.get(kind.key, ""))
        chain, before = INPUTS.get(CHAINS.get(f"{kind.key}.{port.name}", by_port), {}), "ab"[index % 2]
        for name, each in chain.items():
            title = f"{name}{index}"
            nodes[title] = each
            first = catalogue()[each if isinstance(each, str) else each.type].inputs[0].name
            wires.append(f"{before}.output -> {title}.{first}")
            before = title
        wires.append(f"{before}.output -> it.{port.name}")
    nodes |= {"it": node, "cast": Node("Tensor.to", {"dtype": "float32"})}
    wires += [f"it.{kind.outputs[0].name} -> cast.x", "flat.output -> scores.input", *JUDGED]
    if kind.key == "ops.outer":  # its output has no batch
        nodes |= {"total": "ops.sum", "join": "ops.add"}
        wires += ["cast.output -> total.x", "a.output -> join.x", "total.output -> join.y", "join.output -> flat.input"]
    else:
        wires.append("cast.output -> flat.input")
    return document({**HEAD, **nodes, **TAIL}, [*FED, *wires])


SPECIAL: dict[str, tuple[dict[str, str | Node], list[str]]] = {
    "nn.CTCLoss": (
        {
            "rows": Node("nn.Flatten", {"end_dim": 2}),
            "frames": Node("nn.Linear", {"out_features": 11}),
            "logs": Node("nn.LogSoftmax", {"dim": 2}),
            "turned": Node("ops.transpose", {"dim0": 0, "dim1": 1}),
            "words": Node("ops.unsqueeze", {"dim": 1}),
        },
        [
            "conv.output -> rows.input",
            "rows.output -> frames.input",
            "frames.output -> logs.input",
            "logs.output -> turned.x",
            "turned.output -> it.log_probs",
            "batches.target -> words.x",
            "words.output -> it.targets",
        ],
    ),
    "nn.MultiLabelMarginLoss": (
        {"classes": Node("functional.one_hot", {"num_classes": 10})},
        ["batches.target -> classes.x", "scores.output -> it.input", "classes.output -> it.target"],
    ),
}
"""Nodes and wires of losses with other inputs."""


def judge(node: Node) -> Document:
    """A loss or metric: of scores and classes, or of an image and the image that it should be."""
    wires = [*FED, "batches.input -> conv.input", "conv.output -> sigmoid.input"]
    wires += ["sigmoid.output -> flat.input", "flat.output -> scores.input", "batches.target -> entropy.target"]
    classes = node.type in CLASS_JUDGES
    score, *others = ("scores.output", "batches.target") if classes else ("sigmoid.output", "batches.input")
    if node.type == "nn.CosineEmbeddingLoss":
        others = ["scores.output", "batches.target"]
    nodes = {**HEAD, "conv": CONV, "sigmoid": "nn.Sigmoid", **TAIL, "it": node}
    wires += ["scores.output -> entropy.input"]
    if node.type in SPECIAL:
        further_nodes, further_wires = SPECIAL[node.type]
        nodes, wires = {**nodes, **further_nodes}, [*wires, *further_wires]
    else:
        first, *further = (port.name for port in catalogue()[node.type].inputs)
        others += others[-1:] * (len(further) - len(others))
        wires += [f"{score} -> it.{first}"]
        wires += [f"{other} -> it.{port}" for other, port in zip(others, further, strict=True)]
    if catalogue()[node.type].role is Role.METRIC:
        return document(nodes, [*wires, "entropy.loss -> adam.loss"])
    total = {"total": "studio.LossSum"}
    joined = ["entropy.loss -> total.a", "it.loss -> total.b", "total.loss -> adam.loss"]
    return document({**nodes, **total}, [*wires, *joined])


def around(node: Node) -> Document:
    """The digits network with a data source, transform, split, loader, optimizer or sum of losses replaced."""
    name = {Role.SOURCE: "digits", Role.LOADER: "batches", Role.OPTIMIZER: "adam"}
    role = catalogue()[node.type].role
    if role is Role.LOSS_SUM:
        return judge(Node("nn.MSELoss"))
    nodes: dict[str, str | Node] = {**HEAD, **TAIL, name.get(role, "it"): node}
    between = ["it.samples -> batches.samples", "scale.samples -> it.samples"] if "it" in nodes else FED[1:]
    if node.type in OPEN:
        nodes["it"] = Node("transforms.Resize", {"size": [8, 8]})
        between = ["it.samples -> batches.samples", "scale.samples -> it.samples"]
    if node.type in NUMBERS:
        nodes["it"] = Node("transforms.Normalize", {"on": "targets"})
        between = ["it.samples -> batches.samples", "scale.samples -> it.samples"]
        nodes |= {"scores": Node("nn.Linear", {"out_features": NUMBERS[node.type]}), "entropy": "nn.MSELoss"}
    wires = [FED[0], *between, "batches.input -> flat.input", "flat.output -> scores.input"]
    return document(nodes, [*wires, *JUDGED])


def schedule(node: Node) -> Document:
    """A schedule behind an optimizer that has a momentum."""
    nodes = {**HEAD, **TAIL, "it": node}
    wires = [*FED, "batches.input -> flat.input", "flat.output -> scores.input", *JUDGED]
    return document(nodes, [*wires, "adam.optimizer -> it.optimizer"])


PLACES = {Role.LAYER: layer, Role.OPERATION: operation, Role.LOSS: judge, Role.METRIC: judge, Role.SCHEDULER: schedule}


def placed(node_type: NodeType) -> Document:
    node = Node(node_type.key, PARAMS.get(node_type.key, {}))
    return PLACES.get(node_type.role, around)(node)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    generator = np.random.default_rng(0)
    rows = [f"{a},{b},{number % 10}" for number, (a, b) in enumerate(generator.random((200, 2)))]
    (folder / "table.csv").write_text("\n".join(["x,y,kind", *rows]) + "\n")
    (folder / "images").mkdir()
    for part, count in (("train", 64), ("t10k", 16)):
        images = generator.integers(0, 255, (count, 8, 8), dtype=np.uint8)
        labels = np.arange(count, dtype=np.uint8) % 10
        for kind, array in (("images-idx3", images), ("labels-idx1", labels)):
            header = struct.pack(f">I{array.ndim}I", 0x0800 + array.ndim, *array.shape)
            with gzip.open(folder / "images" / f"{part}-{kind}-ubyte.gz", "wb") as file:
                file.write(header + array.tobytes())
    (folder / "cifar").mkdir()
    records = generator.integers(0, 10, (40, 3073), dtype=np.uint8)
    (folder / "cifar" / "data_batch_1.bin").write_bytes(records.tobytes())
    lines = ["image,label"]
    for number in range(40):
        path = Path("photos", str(number % 10), f"{number}.png")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(generator.integers(0, 255, (9, 8 + number % 3), dtype=np.uint8)).save(folder / path)
        lines.append(f"{number % 10}/{number}.png,{number % 10}")
    (folder / "photos" / "list.csv").write_text("\n".join(lines))
    np.savez(folder / "arrays.npz", x=generator.random((60, 8)).astype(np.float32), y=np.arange(60) % 10)
    (folder / "text.txt").write_text("to be or not to be " * 20)
    (folder / "shards").mkdir()
    with tarfile.open(folder / "shards" / "a.tar", "w") as archive:
        for number in range(20):
            archive.add(folder / "photos" / str(number % 10) / f"{number}.png", f"{number}.png")
            label = tarfile.TarInfo(f"{number}.cls")
            label.size = 1
            archive.addfile(label, io.BytesIO(str(number % 10).encode()))
    table = {"x": generator.random(60), "y": generator.random(60), "kind": np.arange(60) % 10}
    parquet.write_table(pa.table(table), folder / "table.parquet")
    records = [json.dumps({key: float(values[row]) for key, values in table.items()}) for row in range(60)]
    (folder / "table.jsonl").write_text("\n".join(records))
    return folder


OTHERS = [each for each in catalogue() if each.role is not Role.OPERATION]
"""Types that train for a step; operations only compute a loss and its gradients, which takes less time."""


@pytest.mark.parametrize("node_type", OTHERS, ids=lambda node_type: node_type.key)
def test_node_type_is_checked_generated_and_run(node_type: NodeType, files: Path) -> None:
    base = placed(node_type)
    report = check(base, catalogue(), files)
    assert [problem.message for problem in report.errors] == []
    assert set(report.nodes) == set(base.nodes)
    program = lower(check(base, catalogue(), base=files))
    with bitwise():  # compiling kernels would take longer than the step
        [step] = [event for event in fit.fit(program.build(), steps=1) if isinstance(event, fit.Step)]
    assert step.finite


@pytest.mark.parametrize("node_type", list(catalogue()), ids=lambda node_type: node_type.key)
def test_checked_shapes_equal_shapes_of_the_run(node_type: NodeType, files: Path) -> None:
    base = placed(node_type)
    report = check(base, catalogue(), files)
    infos = report.nodes
    assert [problem.message for problem in report.errors] == []
    program = lower(check(base, catalogue(), base=files))
    task = program.build()
    batch = next(iter(task.setup().train))
    with inspect.trace() as trace:
        losses = task.losses(batch)
    for loss in losses.values() if node_type.role is Role.OPERATION else ():
        loss.backward()
        assert loss.isfinite().item()
    last = {program.node_at(*call.where): call.outputs for call in trace.calls if call.where is not None}
    compared = {name for name in last if name is not None and "output" in infos[name].outputs}
    for name in compared:
        assert _concrete(infos[name].outputs["output"], len(batch[0])) in last[name], name
    assert "scores" in compared


def _concrete(spec: Spec, batch: int) -> Spec:
    return spec.with_shape(size.at(batch) if isinstance(size, Dim) else size for size in spec.shape)
