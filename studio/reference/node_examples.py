"""Examples for each node: required parameters, and input and output shapes from shape inference."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.dtypes import DType, bool_, float32, int64
from engine.shape import Dim, Spec
from studio.lowering.analysis.node_arguments import resolve_arguments
from studio.lowering.analysis.node_evaluation import NodeEvaluator
from studio.nodes.types import NodeType, Role

N = Dim("N")
WITH_SHAPES = (Role.LAYER, Role.OPERATION, Role.LOSS, Role.METRIC)

RANKS: Mapping[str, tuple[Any, ...]] = {"": (N, 16), "1d": (N, 16, 32), "2d": (N, 16, 32, 32), "3d": (N, 16, 8, 8, 8)}
"""Shapes to try. A layer whose name ends in a number of dimensions is tried with that shape alone."""

IMAGES = Spec((N, 16, 32, 32), float32)
SEQUENCES = Spec((N, 32, 16), float32)

INPUTS: Mapping[str, tuple[Spec, ...]] = {
    "Recurrent": (Spec((N, 32, 16), float32),),
    "Attention": (Spec((N, 32, 16), float32),),
    "Tokens and positions": (Spec((N, 32, 16), float32),),
    "Embedding": (Spec((N, 16), int64),),
    "nn.RNNCell": (Spec((N, 16), float32),),
    "nn.LSTMCell": (Spec((N, 16), float32),),
    "nn.GRUCell": (Spec((N, 16), float32),),
    "nn.Halves": (Spec((2 * N, 16), float32),),
    "nn.SplitHeads": (SEQUENCES,),
    "nn.MergeHeads": (Spec((N, 4, 32, 16), float32),),
    "nn.Positions": (SEQUENCES,),
    "nn.CausalMask": (SEQUENCES,),
    "nn.PaddingMask": (Spec((N, 32), int64),),
    "nn.Fold": (Spec((N, 64, 49), float32),),
    "nn.Unfold": (IMAGES,),
    "nn.PixelShuffle": (IMAGES,),
    "nn.PixelUnshuffle": (IMAGES,),
    "nn.ChannelShuffle": (IMAGES,),
    "Linear algebra": (Spec((N, 16, 16), float32),),
    "ops.outer": (Spec((16,), float32),),
    "linalg.cross": (Spec((N, 3), float32),),
    "functional.one_hot": (Spec((N, 16), int64),),
    "ops.diagonal": (Spec((N, 16, 16), float32),),
    "ops.permute": (IMAGES,),
    "ops.chunk": (Spec((N, 16), float32),),
    "ops.split_with_sizes": (Spec((N, 16), float32),),
    "ops.unbind": (Spec((N, 2, 16), float32),),
    "studio.Slice": (Spec((N, 32, 16), float32),),
    "studio.Formula": (Spec((N, 16), float32),),
    "ops.squeeze": (Spec((N, 1, 16), float32),),
    "Tensor.expand": (Spec((N, 1, 16), float32),),
    "Tensor.repeat": (Spec((N, 16), float32),),
    "ops.rot90": (IMAGES,),
    "functional.pad": (IMAGES,),
    "functional.interpolate": (IMAGES,),
    "functional.grid_sample": (IMAGES,),
}
"""Other first inputs, by group or key. Further inputs have the same shape unless they are targets."""

DTYPES: Mapping[str, DType] = {"mask": bool_, "condition": bool_, "index": int64, "indices": int64}
"""Dtype of inputs of operations, by port."""

PORTS: Mapping[tuple[str, str], Spec] = {
    ("nn.CTCLoss", "log_probs"): Spec((50, N, 20), float32),
    ("nn.CTCLoss", "targets"): Spec((N, 12), int64),
    ("nn.MultiLabelMarginLoss", "target"): Spec((N, 10), int64),
    ("ops.index_select", "index"): Spec((4,), int64),
    ("nn.CarriedState", "batch"): Spec((N, 16), float32),
    ("functional.grid_sample", "grid"): Spec((N, 8, 8, 2), float32),
}
"""Other inputs, and optional ones that are connected, by key and port."""

SCORES = (
    (Spec((N, 10), float32), Spec((N,), int64)),
    (Spec((N, 10, 8, 8), float32), Spec((N, 8, 8), int64)),
    (Spec((N, 1), float32), Spec((N, 1), float32)),
    (Spec((N, 10), float32), Spec((N, 10), float32)),
    (Spec((N, 16, 32), float32), Spec((N, 16, 32), float32)),
    (Spec((N, 16), float32), Spec((N, 16), float32), Spec((N,), float32)),
    (Spec((N, 16), float32), Spec((N, 16), float32), Spec((N, 16), float32)),
)
"""Inputs of losses and metrics to try."""

VALUES: Mapping[str, Any] = {
    "out_features": 32, "out_channels": 32, "hidden_size": 32, "kernel_size": 3, "output_size": 4, "padding": 1,
    "num_embeddings": 1000, "embedding_dim": 32, "num_heads": 4, "nhead": 4, "num_groups": 4, "groups": 4, "dim": 1,
    "size": 16, "norm_type": 2.0, "value": 0.0, "threshold": 0.1, "upscale_factor": 2, "downscale_factor": 2,
    "unflattened_size": [4, 4], "in2_features": 16, "T_max": 10, "T_0": 10, "base_lr": 0.001, "max_lr": 0.01,
    "gamma": 0.9, "step_size": 10, "milestones": [10, 20], "target": "price", "end": 16, "steps": 16, "rows": 16,
}  # fmt: skip
"""By name, for required parameters."""

SPECIAL: Mapping[tuple[str, str], Any] = {
    ("data.CSV", "path"): "houses.csv",
    ("data.Parquet", "path"): "houses.parquet",
    ("data.NPY", "path"): "samples.npz",
    ("data.Text", "path"): "book.txt",
    ("data.ImageList", "path"): "images.csv",
    ("ops.logsumexp", "dim"): 1,
    ("ops.reshape", "shape"): [-1, 4, 4],
    ("ops.permute", "dims"): [0, 2, 3, 1],
    ("ops.flip", "dims"): [1],
    ("ops.split_with_sizes", "split_sizes"): [4, 12],
    ("ops.chunk", "chunks"): 2,
    ("studio.Slice", "index"): ":, -1",
    ("ops.transpose", "dim0"): -2,
    ("ops.transpose", "dim1"): -1,
    ("ops.movedim", "source"): 1,
    ("ops.movedim", "destination"): -1,
    ("ops.roll", "shifts"): 1,
    ("ops.narrow", "start"): 2,
    ("ops.narrow", "length"): 4,
    ("ops.select", "index"): -1,
    ("ops.topk", "k"): 3,
    ("ops.repeat_interleave", "repeats"): 2,
    ("Tensor.expand", "size"): [-1, 4, -1],
    ("Tensor.repeat", "repeats"): [1, 2],
    ("Tensor.to", "dtype"): "float64",
    ("functional.pad", "pad"): [1, 1, 1, 1],
    ("ops.matrix_power", "n"): 2,
    ("linalg.matrix_power", "n"): 2,
    ("nn.Fold", "output_size"): [8, 8],
    ("nn.Fold", "kernel_size"): 2,
}

FURTHER: Mapping[str, Mapping[str, Any]] = {
    "ops.cat": {"dim": 1},
    "ops.stack": {"dim": 1},
    "ops.pow": {"exponent": 2},
    "ops.clamp": {"min": 0.0, "max": 1.0},
    "ops.lerp": {"weight": 0.5},
    **{f"ops.{name}": {"y": 0} for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{f"ops.{name}": {"dim": 1} for name in ("sum", "mean", "prod", "amax", "amin", "argmax", "argmin", "var", "std")},
    **{f"ops.{name}": {"dim": 1} for name in ("nansum", "nanmean", "count_nonzero", "any", "all", "roll")},
    "ops.take_along_dim": {"dim": 1},
    "ops.repeat_interleave": {"repeats": 2, "dim": 1},
    "ops.rot90": {"dims": [2, 3]},
    "ops.diagonal": {"dim1": 1, "dim2": 2},
    "functional.one_hot": {"num_classes": 10},
    "linalg.vector_norm": {"dim": 1},
    "functional.interpolate": {"scale_factor": 2.0},
    "functional.grid_sample": {"align_corners": False},
    "ops.roll": {"shifts": 1, "dims": 1},
    "nn.Softmax": {"dim": 1},
    "nn.Softmin": {"dim": 1},
    "nn.LogSoftmax": {"dim": 1},
    "nn.KLDivLoss": {"reduction": "batchmean"},
    "nn.Upsample": {"scale_factor": 2.0},
    "nn.UpsamplingNearest2d": {"scale_factor": 2.0},
    "nn.UpsamplingBilinear2d": {"scale_factor": 2.0},
}
"""Parameters that examples set although they have a default."""


@dataclass(frozen=True, slots=True)
class Shapes:
    """Input and output shapes of a node by port."""

    inputs: Mapping[str, Spec]
    arguments: Mapping[str, Any]
    outputs: Mapping[str, Spec]


def required(kind: NodeType) -> dict[str, Any]:
    """A value for each required parameter."""
    parameters = (each for each in kind.params if each.required and each.from_input is None and not each.from_training)
    return {each.name: _value(kind, each) for each in parameters} | dict(FURTHER.get(kind.key, {}))


def _value(kind: NodeType, parameter: Any) -> Any:
    example = SPECIAL.get((kind.key, parameter.name), VALUES.get(parameter.name))
    if example is None and parameter.kind == "path":
        return "images" if parameter.path is not None and parameter.path.kind == "folder" else "data.csv"
    if example is None:
        raise LookupError(
            f"{kind.key} requires {parameter.name}: add an example value to studio/reference/node_examples.py"
        )
    is_tuple = parameter.kind in ("ints", "floats") and not parameter.single and not isinstance(example, list)
    return [example] * (parameter.length or 1) if is_tuple else example


@functools.cache
def shapes(kind: NodeType) -> tuple[Shapes, ...]:
    """Example inputs that the node accepts, with the resulting outputs."""
    if kind.role not in WITH_SHAPES:
        return ()
    evaluator, params, found = NodeEvaluator(), required(kind), list[Shapes]()
    for inputs in _candidates(kind):
        arguments = resolve_arguments(kind, params, next(iter(inputs.values()), None))
        if arguments.is_incomplete or arguments.problems:
            continue
        with warnings.catch_warnings(action="ignore"):
            outcome = evaluator.evaluate(kind, arguments.values, inputs)
        outputs = {port: spec for port, spec in outcome.outputs.items() if isinstance(spec, Spec)}
        if not outcome.failure:
            found.append(Shapes(inputs, arguments.values, outputs))
    if not found:
        raise LookupError(f"{kind.key} takes no example input: add one to INPUTS of studio/reference/node_examples.py")
    return tuple(found)


def _candidates(kind: NodeType) -> Iterator[dict[str, Spec]]:
    given = required(kind)
    ports = [
        port
        for port in kind.inputs
        if (not port.optional and port.name not in given) or (port.optional and (kind.key, port.name) in PORTS)
    ]
    for specs in SCORES if kind.role in (Role.LOSS, Role.METRIC) else [(spec,) for spec in _inputs(kind)]:
        if len(specs) in (1, len(ports)):
            found = {port.name: specs[min(index, len(specs) - 1)] for index, port in enumerate(ports)}
            yield {name: _by_name(kind, name, spec) for name, spec in found.items()}


def _by_name(kind: NodeType, port: str, spec: Spec) -> Spec:
    """The input of a port whose name says what it takes."""
    special = PORTS.get((kind.key, port))
    if special is not None:
        return special
    return Spec(spec.shape, DTYPES[port]) if kind.role is Role.OPERATION and port in DTYPES else spec


def _inputs(kind: NodeType) -> tuple[Spec, ...]:
    specs = INPUTS.get(kind.key, INPUTS.get(kind.group))
    if specs is not None:
        return specs
    rank = kind.key[-2:] if kind.key[-2:] in RANKS else None
    return tuple(Spec(shape, float32) for name, shape in RANKS.items() if rank in (None, name))
