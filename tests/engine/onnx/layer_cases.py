"""A call of every layer: arguments of the constructor, and inputs with the batch first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

IMAGE, SIGNAL, VOLUME, SEQUENCE = (2, 4, 6, 5), (2, 4, 7), (2, 4, 4, 5, 3), (2, 5, 8)


@dataclass(frozen=True)
class LayerCase:
    name: str
    shapes: tuple[tuple[int, ...], ...]
    arguments: dict[str, Any]
    below: int | None = None
    """Inputs are integers from 0 to below this."""
    batch: int | None = 0
    """Dimension of the batch, whose size is symbolic; None for no batch."""

    def __str__(self) -> str:
        return f"{self.name}-{self.shapes[0] if self.shapes else ''}-{self.arguments}"

    def inputs(self, batch: int | None = None) -> list[Any]:
        random = np.random.default_rng(7)
        found = []
        for shape in self.shapes:
            size = list(shape)
            if batch is not None and self.batch is not None:
                size[self.batch] = batch
            if self.below is not None:
                found.append(random.integers(0, self.below, size))
            else:
                found.append(random.standard_normal(size).astype(np.float32))
        return found


def case(name: str, *shapes: tuple[int, ...], **arguments: Any) -> LayerCase:
    return LayerCase(name, shapes, arguments)


def _spatial() -> list[LayerCase]:
    found = []
    for number, shape in ((1, SIGNAL), (2, IMAGE), (3, VOLUME)):
        found += [
            case(f"Conv{number}d", shape, in_channels=4, out_channels=6, kernel_size=3, padding=1),
            case(f"ConvTranspose{number}d", shape, in_channels=4, out_channels=6, kernel_size=3, stride=2),
            case(f"MaxPool{number}d", shape, kernel_size=2),
            case(f"AvgPool{number}d", shape, kernel_size=2, padding=1),
            case(f"AdaptiveAvgPool{number}d", shape, output_size=2),
            case(f"AdaptiveAvgPool{number}d", shape, output_size=1),
            case(f"AdaptiveMaxPool{number}d", shape, output_size=2),
            case(f"LPPool{number}d", shape, norm_type=2, kernel_size=2),
            case(f"BatchNorm{number}d", shape, num_features=4),
            case(f"InstanceNorm{number}d", shape, num_features=4, affine=True),
            case(f"Dropout{number}d", shape),
            *(
                case(f"{kind}Pad{number}d", shape, padding=1)
                for kind in ("Zero", "Reflection", "Replication", "Circular")
            ),
            case(f"ConstantPad{number}d", shape, padding=2, value=1.5),
        ]
    return found


def _activations() -> list[LayerCase]:
    names = (
        "ReLU", "ReLU6", "LeakyReLU", "PReLU", "RReLU", "ELU", "CELU", "SELU", "Sigmoid", "LogSigmoid", "Tanh",
        "Softsign", "Tanhshrink", "Softplus", "GELU", "SiLU", "Mish", "GLU", "Hardtanh", "Hardsigmoid", "Hardswish",
        "Hardshrink", "Softshrink", "Identity", "Flatten", "Dropout", "AlphaDropout", "FeatureAlphaDropout", "Fill",
        "Noise",
    )  # fmt: skip
    return [case(name, (3, 4, 6)) for name in names]


CASES = [
    *_spatial(),
    *_activations(),
    case("Conv2d", IMAGE, in_channels=4, out_channels=4, kernel_size=3, padding="same", groups=2, bias=False),
    case("Conv2d", IMAGE, in_channels=4, out_channels=2, kernel_size=3, padding=1, padding_mode="reflect"),
    case("MaxPool2d", IMAGE, kernel_size=3, stride=2, padding=1, ceil_mode=True),
    case("AvgPool2d", IMAGE, kernel_size=3, stride=2, padding=1, ceil_mode=True, count_include_pad=False),
    case("AvgPool2d", IMAGE, kernel_size=2, divisor_override=3),
    case("ConvTranspose2d", IMAGE, in_channels=4, out_channels=4, kernel_size=3, stride=2, padding=1,
         output_padding=1, groups=2),
    case("ReLU", (3, 4), inplace=True),
    case("GELU", (3, 4), approximate="tanh"),
    case("PReLU", IMAGE, num_parameters=4),
    case("Softplus", (3, 4), beta=3.0, threshold=1.0),
    case("Threshold", (3, 4), threshold=0.5, value=-2.0),
    case("Softmax", (3, 4), dim=-1), case("Softmin", (3, 4), dim=-1), case("LogSoftmax", (3, 4), dim=-1),
    case("Softmax2d", IMAGE),
    case("Linear", (3, 4), in_features=4, out_features=5),
    case("Linear", (3, 2, 4), in_features=4, out_features=5, bias=False),
    case("Bilinear", (3, 4), (3, 5), in1_features=4, in2_features=5, out_features=2),
    case("CosineSimilarity", (3, 4), (3, 4)), case("PairwiseDistance", (3, 4), (3, 4)),
    case("BatchNorm1d", (3, 4), num_features=4, affine=False),
    case("BatchNorm2d", IMAGE, num_features=4, track_running_stats=False),
    case("GroupNorm", IMAGE, num_groups=2, num_channels=4),
    case("InstanceNorm2d", IMAGE, num_features=4),
    case("LayerNorm", (3, 5, 4), normalized_shape=(5, 4)), case("LayerNorm", (3, 4), normalized_shape=4, bias=False),
    case("LayerNorm", (3, 4), normalized_shape=4, elementwise_affine=False),
    case("RMSNorm", (3, 4), normalized_shape=4),
    case("LocalResponseNorm", IMAGE, size=3),
    LayerCase("Embedding", ((3, 5),), {"num_embeddings": 7, "embedding_dim": 3}, below=7),
    LayerCase("EmbeddingBag", ((3, 5),), {"num_embeddings": 7, "embedding_dim": 3}, below=7),
    case("Unflatten", (3, 12), dim=1, unflattened_size=(3, 4)),
    case("Unfold", IMAGE, kernel_size=3, stride=2, padding=1),
    case("Fold", (2, 36, 30), output_size=(6, 5), kernel_size=3, padding=1),
    case("Halves", (4, 6), dim=1),
    case("PixelShuffle", IMAGE, upscale_factor=2), case("PixelUnshuffle", (2, 3, 4, 6), downscale_factor=2),
    case("ChannelShuffle", IMAGE, groups=2),
    case("Upsample", IMAGE, scale_factor=2), case("Upsample", IMAGE, scale_factor=2, mode="bilinear"),
    case("Upsample", IMAGE, scale_factor=2, mode="bicubic"), case("Upsample", IMAGE, size=(4, 9), mode="bilinear"),
    case("Upsample", SIGNAL, scale_factor=1.5, mode="linear"),
    case("UpsamplingNearest2d", IMAGE, scale_factor=3), case("UpsamplingBilinear2d", IMAGE, scale_factor=2),
    case("RNN", SEQUENCE, input_size=8, hidden_size=3, batch_first=True, nonlinearity="relu"),
    case("GRU", SEQUENCE, input_size=8, hidden_size=3, batch_first=True, num_layers=2),
    case("GRU", SEQUENCE, input_size=8, hidden_size=3, batch_first=True, bias=False, bidirectional=True),
    case("LSTM", SEQUENCE, input_size=8, hidden_size=3, batch_first=True),
    case("LSTM", SEQUENCE, input_size=8, hidden_size=3, batch_first=True, num_layers=2, bidirectional=True),
    case("LSTM", SEQUENCE, input_size=8, hidden_size=3, batch_first=True, carry_state=True),
    LayerCase("LSTM", ((5, 2, 8),), {"input_size": 8, "hidden_size": 3}, batch=1),
    case("RNNCell", (3, 8), (3, 4), input_size=8, hidden_size=4),
    case("GRUCell", (3, 8), (3, 4), input_size=8, hidden_size=4), case("LSTMCell", (3, 8), input_size=8, hidden_size=4),
    case("MultiheadAttention", SEQUENCE, SEQUENCE, SEQUENCE, embed_dim=8, num_heads=2, batch_first=True),
    case("TransformerEncoderLayer", SEQUENCE, d_model=8, nhead=2, dim_feedforward=12, batch_first=True),
    case("TransformerDecoderLayer", SEQUENCE, SEQUENCE, d_model=8, nhead=2, dim_feedforward=12, batch_first=True),
    case("Transformer", SEQUENCE, (2, 3, 8), d_model=8, nhead=2, dim_feedforward=12, batch_first=True,
         num_encoder_layers=1, num_decoder_layers=1),
    case("SplitHeads", SEQUENCE, num_heads=2), case("MergeHeads", (2, 2, 5, 4)),
    LayerCase("Positions", ((3, 5),), {}, below=7), LayerCase("CausalMask", ((3, 5),), {}, below=7),
    LayerCase("PaddingMask", ((3, 5),), {}, below=3), case("LastStep", SEQUENCE),
    case("ClassToken", SEQUENCE, features=8), case("LearnedPositions", SEQUENCE, length=9, features=8),
    case("SinusoidalPositions", SEQUENCE, length=9, features=8),
    case("LearnedTensor", SEQUENCE, size=(3,)), case("CarriedState", SEQUENCE, size=4),
    case("ConstantTensor", SEQUENCE, size=(3,), values=(1.0, 2.0, 3.0)), case("RangeTensor", SEQUENCE, end=4),
    case("LinspaceTensor", SEQUENCE, end=4.0, steps=3), case("IdentityMatrix", SEQUENCE, rows=3),
    case("RunningAverage", SEQUENCE, num_features=8),
]  # fmt: skip
