"""Networks of the training-step benchmarks, for any library with PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Benchmark(NamedTuple):
    model: Callable[[Any], Any]
    """Builds the model from a library's `nn`."""
    input: tuple[int, ...]
    title: str
    vocabulary: int = 0
    """Vocabulary size: the input is integers rather than images, with a class per position."""


def mlp(nn: Any) -> Any:
    return nn.Sequential(
        nn.Linear(784, 256), nn.ReLU(), nn.Dropout(0.2),
        nn.Linear(256, 128), nn.ReLU(), nn.Dropout(0.2),
        nn.Linear(128, 10),
    )  # fmt: skip


def cnn(nn: Any) -> Any:
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip


def lstm(nn: Any) -> Any:
    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.recurrent = nn.LSTM(32, 128, batch_first=True)
            self.logits = nn.Linear(128, 10)

        def forward(self, x: Any) -> Any:
            return self.logits(self.recurrent(x)[0][:, -1])

    return Classifier()


def gpt(nn: Any) -> Any:
    width, heads, context, vocabulary = 128, 4, 128, 256

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.shape
            parts = self.qkv(self.norm1(x)).reshape(batch, length, 3, heads, width // heads)
            query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
            attended = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.projection(attended.transpose(1, 2).reshape(batch, length, width))
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token_embedding = nn.Embedding(vocabulary, width)
            self.position_embedding = nn.Embedding(context, width)
            self.blocks = nn.Sequential(*[Block() for _ in range(4)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

        def forward(self, x: Any) -> Any:
            embedded = self.token_embedding(x) + self.position_embedding.weight
            return self.head(self.norm(self.blocks(embedded))).reshape(-1, vocabulary)

    return GPT()


def resnet20(nn: Any) -> Any:
    """He et al., "Deep residual learning for image recognition", 2016, section 4.2."""

    class Block(nn.Module):
        def __init__(self, inner: int, outer: int, stride: int) -> None:
            super().__init__()
            self.first = nn.Sequential(
                nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.BatchNorm2d(outer), nn.ReLU()
            )
            self.second = nn.Sequential(nn.Conv2d(outer, outer, 3, 1, 1, bias=False), nn.BatchNorm2d(outer))
            self.around = nn.Sequential()
            if stride > 1:
                self.around = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer))
            self.relu = nn.ReLU()

        def forward(self, x: Any) -> Any:
            return self.relu(self.second(self.first(x)) + self.around(x))

    sizes = [(16, 16, 1)] * 3 + [(16, 32, 2)] + [(32, 32, 1)] * 2 + [(32, 64, 2)] + [(64, 64, 1)] * 2
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        *[Block(*size) for size in sizes],
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


MLP = "MLP 784-256-128-10, dropout 0.2"
CNN = "CNN 2x(conv 3x3, batch norm, ReLU, pool) 32-64, 2 linear, 28x28"
BENCHMARKS = {
    "mlp-64": Benchmark(mlp, (64, 784), f"{MLP}, batch 64"),
    "mlp-512": Benchmark(mlp, (512, 784), f"{MLP}, batch 512"),
    "cnn-64": Benchmark(cnn, (64, 1, 28, 28), f"{CNN}, batch 64"),
    "gpt-16": Benchmark(gpt, (16, 128), "GPT, 4 layers, width 128, 4 heads, 128 tokens, batch 16", vocabulary=256),
    "lstm-64": Benchmark(lstm, (64, 128, 32), "LSTM, width 128, 128 steps, input 32, batch 64"),
    "resnet20-64": Benchmark(resnet20, (64, 3, 32, 32), "ResNet-20, 32x32, batch 64"),
}
EAGER = ("mlp-64", "mlp-512", "cnn-64")
"""Models for which eager mode has a target."""
