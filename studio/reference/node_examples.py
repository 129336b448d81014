"""Examples for each node: required parameters, and input and output shapes from shape inference."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from engine.dtypes import float32, int64
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
    "nn.Fold": (Spec((N, 64, 49), float32),),
    "nn.Unfold": (IMAGES,),
    "nn.PixelShuffle": (IMAGES,),
    "nn.PixelUnshuffle": (IMAGES,),
    "nn.ChannelShuffle": (IMAGES,),
    "ops.matmul": (Spec((N, 16, 16), float32),),
}
"""Other first inputs, by group or key. Further inputs have the same shape unless they are targets."""

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
    "gamma": 0.9, "step_size": 10, "milestones": [10, 20], "target": "price",
}  # fmt: skip
"""By name, for required parameters."""

SPECIAL: Mapping[tuple[str, str], Any] = {
    ("data.CSV", "path"): "houses.csv",
    ("data.Parquet", "path"): "houses.parquet",
    ("data.NPY", "path"): "samples.npz",
    ("data.Text", "path"): "book.txt",
    ("data.ImageList", "path"): "images.csv",
    ("nn.Fold", "output_size"): [8, 8],
    ("nn.Fold", "kernel_size"): 2,
}

FURTHER: Mapping[str, Mapping[str, Any]] = {
    "ops.cat": {"dim": 1},
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
    ports = [port for port in kind.inputs if not port.optional]
    for specs in SCORES if kind.role in (Role.LOSS, Role.METRIC) else [(spec,) for spec in _inputs(kind)]:
        if len(specs) in (1, len(ports)):
            yield {port.name: specs[min(index, len(specs) - 1)] for index, port in enumerate(ports)}


def _inputs(kind: NodeType) -> tuple[Spec, ...]:
    specs = INPUTS.get(kind.key, INPUTS.get(kind.group))
    if specs is not None:
        return specs
    rank = kind.key[-2:] if kind.key[-2:] in RANKS else None
    return tuple(Spec(shape, float32) for name, shape in RANKS.items() if rank in (None, name))
