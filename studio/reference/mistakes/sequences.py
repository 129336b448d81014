"""Mistakes with sequences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from studio.document.model import Document, Node
from studio.reference.mistakes.mistake import Goal, Mistake
from studio.reference.mistakes.networks import chain, linear, network
from studio.reference.mistakes.projects import digits, document

Layers = dict[str, str | Node]


def series(layers: Layers, wires: Iterable[str] = ()) -> Document:
    """Sequences of pairs of numbers, N×20×2, whose sum the network learns."""
    of_layers, last = chain("batches.input", layers)
    return document(
        {
            "sequences": "data.Sequences",
            "batches": "data.Batches",
            **layers,
            "mse": "nn.MSELoss",
            "adam": Node("optim.Adam", {"lr": 0.01}),
        },
        [
            "sequences.samples -> batches.samples",
            *of_layers,
            f"{last} -> mse.input",
            "batches.target -> mse.target",
            "mse.loss -> adam.loss",
            *wires,
        ],
    )


def text(layers: Layers, wires: Iterable[str] = (), **more: str | Node) -> Document:
    """Shakespeare, from whose tokens N×T the network predicts the next ones; the last layer gives N×T×62."""
    of_layers, last = chain("batches.input", layers)
    return document(
        {
            "text": Node("data.Shakespeare", {"length": 16, "stride": 128}),
            "batches": Node("data.Batches", {"batch_size": 64}),
            **layers,
            **more,
            "classes_first": Node("ops.transpose", {"dim0": 1, "dim1": 2}),
            "cross_entropy": "nn.CrossEntropyLoss",
            "adam": Node("optim.Adam", {"lr": 0.01}),
        },
        [
            "text.samples -> batches.samples",
            *of_layers,
            f"{last} -> classes_first.x",
            "classes_first.output -> cross_entropy.input",
            "batches.target -> cross_entropy.target",
            "cross_entropy.loss -> adam.loss",
            *wires,
        ],
    )


def _planted(
    make: Callable[..., Document], layers: Layers, wires: Iterable[str] = (), **more: str | Node
) -> Callable[[Path], Document]:
    return lambda _: make(layers, wires, **more)


LAST = Node("ops.select", {"dim": 1, "index": -1})
_SUM = Node("nn.Linear", {"out_features": 1})
TOKENS = Node("nn.Embedding", {"num_embeddings": 62, "embedding_dim": 16})
SCORES = Node("nn.Linear", {"out_features": 62})
_GRU = Node("nn.GRU", {"hidden_size": 16})
_ENCODER = Node("nn.TransformerEncoderLayer", {"nhead": 2, "dim_feedforward": 16})
_BY_TIME = Node("nn.GRU", {"hidden_size": 16, "batch_first": False})
_SUM_LEARNED = Goal("val_loss", 0.5, epochs=4, is_highest=True)

_ALONG_BATCH = (
    Mistake(
        "gru_along_the_batch",
        "sequence-along-batch",
        "gru",
        _planted(series, {"gru": _BY_TIME, "last": LAST, "sum": _SUM}),
        goal=_SUM_LEARNED,
    ),
    Mistake(
        "attention_along_the_batch",
        "sequence-along-batch",
        "attention",
        _planted(
            series,
            {
                "wide": Node("nn.Linear", {"out_features": 8}),
                "attention": Node("nn.MultiheadAttention", {"num_heads": 2, "batch_first": False}),
                "mean": Node("ops.mean", {"dim": 1}),
                "sum": _SUM,
            },
            ["wide.output -> attention.key", "wide.output -> attention.value"],
        ),
    ),
    Mistake(
        "encoder_along_the_batch",
        "sequence-along-batch",
        "encoder",
        _planted(
            series,
            {
                "wide": Node("nn.Linear", {"out_features": 8}),
                "drop": Node("nn.Dropout", {"p": 0.1}),
                "encoder": Node(
                    "nn.TransformerEncoderLayer", {"nhead": 2, "dim_feedforward": 16, "batch_first": False}
                ),
                "mean": Node("ops.mean", {"dim": 1}),
                "sum": _SUM,
            },
        ),
    ),
    Mistake(
        "batch_first_after_a_transpose",
        "sequence-along-batch",
        "lstm",
        _planted(
            series,
            {
                "time_first": Node("ops.transpose", {"dim0": 0, "dim1": 1}),
                "lstm": Node("nn.LSTM", {"hidden_size": 8}),
                "last": Node("ops.select", {"dim": 0, "index": -1}),
                "sum": _SUM,
            },
        ),
    ),
    Mistake(
        "time_first_layers_of_batches",
        "sequence-along-batch",
        "lstm",
        _planted(
            series,
            {
                "lstm": Node("nn.LSTM", {"hidden_size": 8, "batch_first": False}),
                "drop": "nn.Dropout",
                "last": Node("ops.select", {"dim": 0, "index": -1}),
                "sum": _SUM,
            },
        ),
    ),
    Mistake(
        "flat_samples_as_steps",
        "sequence-along-batch",
        "gru",
        _planted(series, {"flatten": "nn.Flatten", "gru": _GRU, "sum": _SUM}),
    ),
)

_ALONG_FEATURES = (
    Mistake(
        "convolution_over_features",
        "sequence-along-features",
        "conv",
        _planted(
            text,
            {
                "tokens": TOKENS,
                "drop": "nn.Dropout",
                "conv": Node("nn.Conv1d", {"out_channels": 16, "kernel_size": 1}),
                "relu": "nn.ReLU",
                "time_first": Node("ops.transpose", {"dim0": 1, "dim1": 2}),
                "scores": SCORES,
            },
        ),
    ),
    Mistake(
        "convolution_over_the_features_of_a_series",
        "sequence-along-features",
        "conv",
        _planted(
            series,
            {
                "conv": Node("nn.Conv1d", {"out_channels": 8, "kernel_size": 1}),
                "relu": "nn.ReLU",
                "flat": "nn.Flatten",
                "sum": _SUM,
            },
        ),
    ),
    Mistake(
        "batch_norm_of_steps",
        "sequence-along-features",
        "norm",
        _planted(series, {"gru": _GRU, "norm": "nn.BatchNorm1d", "last": LAST, "sum": _SUM}),
    ),
    Mistake(
        "pooled_features",
        "sequence-along-features",
        "pool",
        _planted(
            series,
            {
                "gru": _GRU,
                "pool": Node("nn.AdaptiveMaxPool1d", {"output_size": 1}),
                "flat": "nn.Flatten",
                "sum": _SUM,
            },
        ),
    ),
)

_VISIBLE = (
    Mistake(
        "bidirectional_language_model",
        "next-element-visible",
        "gru",
        _planted(
            text,
            {
                "tokens": TOKENS,
                "gru": Node("nn.GRU", {"hidden_size": 16, "bidirectional": True}),
                "drop": "nn.Dropout",
                "scores": SCORES,
            },
        ),
        goal=Goal("val_loss", 3.3, epochs=2, is_highest=True),
    ),
    Mistake(
        "encoder_without_a_mask",
        "next-element-visible",
        "encoder",
        _planted(
            text,
            {
                "tokens": TOKENS,
                "positions": "nn.LearnedPositions",
                "encoder": Node("nn.TransformerEncoderLayer", {"nhead": 2, "dim_feedforward": 16}),
                "scores": SCORES,
            },
        ),
    ),
    Mistake(
        "attention_without_a_mask",
        "next-element-visible",
        "attention",
        _planted(
            text,
            {
                "tokens": TOKENS,
                "attention": Node("nn.MultiheadAttention", {"num_heads": 2}),
                "relu": "nn.ReLU",
                "scores": SCORES,
            },
            ["tokens.output -> attention.key", "tokens.output -> attention.value"],
        ),
    ),
    Mistake(
        "attention_that_is_not_causal",
        "next-element-visible",
        "attend",
        _planted(
            text,
            {
                "tokens": TOKENS,
                "attend": "functional.scaled_dot_product_attention",
                "relu": "nn.ReLU",
                "scores": SCORES,
            },
            ["tokens.output -> attend.key", "tokens.output -> attend.value"],
        ),
    ),
    Mistake(
        "attention_of_parts_without_a_mask",
        "next-element-visible",
        "weights",
        _planted(
            text,
            {
                "tokens": TOKENS,
                "products": "ops.matmul",
                "scale": Node("ops.mul", {"y": 0.25}),
                "weights": "nn.Softmax",
                "mixed": "ops.matmul",
                "relu": "nn.ReLU",
                "scores": SCORES,
            },
            ["tokens.output -> turned.x", "turned.output -> products.y", "tokens.output -> mixed.y"],
            turned=Node("ops.transpose", {"dim0": 1, "dim1": 2}),
        ),
    ),
    Mistake(
        "centered_convolution",
        "next-element-visible",
        "conv",
        _planted(
            text,
            {
                "tokens": TOKENS,
                "channels": Node("ops.transpose", {"dim0": 1, "dim1": 2}),
                "conv": Node("nn.Conv1d", {"out_channels": 16, "kernel_size": 3, "padding": 1}),
                "relu": "nn.ReLU",
                "time_first": Node("ops.transpose", {"dim0": 1, "dim1": 2}),
                "scores": SCORES,
            },
        ),
    ),
)


def _rows(layers: Layers) -> Callable[[Path], Document]:
    """The digits, whose rows are the steps of sequences N×8×8."""
    return lambda _: digits(
        {"rows": Node("nn.Flatten", {"end_dim": 2}), **layers}, adam=Node("optim.Adam", {"lr": 0.01})
    )


_CLASSES = Node("nn.Linear", {"out_features": 10})
_AS_FLOAT = Node("Tensor.to", {"dtype": "float32"})

_STEPS = (
    Mistake(
        "all_steps_at_mse",
        "no-step-selected",
        "gru",
        _planted(series, {"gru": _GRU, "sum": _SUM}),
        goal=_SUM_LEARNED,
    ),
    Mistake(
        "all_steps_at_cross_entropy",
        "no-step-selected",
        "lstm",
        _rows({"lstm": Node("nn.LSTM", {"hidden_size": 32}), "drop": "nn.Dropout", "scores": _CLASSES}),
        goal=Goal("val_loss", 1.0, epochs=6, is_highest=True),
    ),
    Mistake(
        "all_steps_of_attention",
        "no-step-selected",
        "encoder",
        _planted(series, {"wide": Node("nn.Linear", {"out_features": 8}), "encoder": _ENCODER, "sum": _SUM}),
    ),
    Mistake(
        "first_step_of_an_lstm",
        "first-step-selected",
        "first",
        _planted(
            series,
            {
                "lstm": Node("nn.LSTM", {"hidden_size": 16}),
                "drop": Node("nn.Dropout", {"p": 0.1}),
                "first": Node("ops.select", {"dim": 1, "index": 0}),
                "sum": _SUM,
            },
        ),
        goal=_SUM_LEARNED,
    ),
)


def _words(folder: Path) -> Document:
    """Sentences of 12 of 200 words, as whole numbers."""
    words = np.random.default_rng(0).integers(0, 200, (600, 12))
    np.savez(folder / "words.npz", x=words, y=(words < 100).sum(1) % 3)
    layers: Layers = {"hidden": Node("nn.Linear", {"out_features": 16}), "relu": "nn.ReLU", "scores": linear(3)}
    floats = {"float": Node("transforms.ToFloat")}
    return network(Node("data.NPY", {"path": "words.npz"}), layers, "nn.CrossEntropyLoss", transforms=floats)


_TOKENS = (
    Mistake(
        "tokens_as_numbers_in_a_linear_layer",
        "tokens-as-numbers",
        "wide",
        _planted(
            text,
            {
                "floats": _AS_FLOAT,
                "column": Node("ops.unsqueeze", {"dim": -1}),
                "wide": Node("nn.Linear", {"out_features": 16}),
                "relu": "nn.ReLU",
                "gru": _GRU,
                "scores": SCORES,
            },
        ),
    ),
    Mistake(
        "tokens_as_numbers_in_an_lstm",
        "tokens-as-numbers",
        "lstm",
        _planted(
            text,
            {
                "column": Node("ops.unsqueeze", {"dim": -1}),
                "floats": _AS_FLOAT,
                "lstm": Node("nn.LSTM", {"hidden_size": 16}),
                "scores": SCORES,
            },
        ),
    ),
    Mistake(
        "tokens_without_an_embedding",
        "tokens-as-numbers",
        "gru",
        _planted(text, {"column": Node("ops.unsqueeze", {"dim": -1}), "gru": _GRU, "scores": SCORES}),
    ),
    Mistake("numbers_of_words_in_a_file", "tokens-as-numbers", "hidden", _words, stage="data"),
    Mistake(
        "embedding_without_rare_tokens",
        "few-embeddings",
        "tokens",
        _planted(
            text,
            {
                "tokens": Node("nn.Embedding", {"num_embeddings": 61, "embedding_dim": 16}),
                "gru": _GRU,
                "scores": SCORES,
            },
        ),
    ),
    Mistake(
        "attention_to_padding",
        "padding-not-masked",
        "encoder",
        _planted(
            text,
            {
                "tokens": Node("nn.Embedding", {"num_embeddings": 62, "embedding_dim": 16, "padding_idx": 0}),
                "encoder": _ENCODER,
                "scores": SCORES,
            },
            ["tokens.output -> mask.input", "mask.output -> encoder.src_mask"],
            mask="nn.CausalMask",
        ),
    ),
)

SEQUENCES: tuple[Mistake, ...] = (*_ALONG_BATCH, *_ALONG_FEATURES, *_VISIBLE, *_STEPS, *_TOKENS)

__all__ = ["LAST", "SCORES", "SEQUENCES", "TOKENS", "series", "text"]
