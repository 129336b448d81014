"""Sound projects with sequences: none of them is taken for a mistake."""

from __future__ import annotations

import pytest

from studio.document.model import Document, Node
from studio.reference.mistakes.sequences import LAST, SCORES, TOKENS, series, text
from tests.studio.lowering.graphs import codes

SUM = Node("nn.Linear", {"out_features": 1})
WIDE = Node("nn.Linear", {"out_features": 8})
CHANNELS = Node("ops.transpose", {"dim0": 1, "dim1": 2})
TIME_FIRST = Node("ops.transpose", {"dim0": 0, "dim1": 1})
ENCODER = Node("nn.TransformerEncoderLayer", {"nhead": 2, "dim_feedforward": 16})
CAUSAL = ["tokens.output -> mask.input"]

SOUND: dict[str, Document] = {
    "time first on purpose": series(
        {
            "time_first": TIME_FIRST,
            "gru": Node("nn.GRU", {"hidden_size": 8, "batch_first": False}),
            "last": Node("ops.select", {"dim": 0, "index": -1}),
            "sum": SUM,
        }
    ),
    "bidirectional reader of whole sequences": series(
        {"gru": Node("nn.GRU", {"hidden_size": 8, "bidirectional": True}), "last": LAST, "sum": SUM}
    ),
    "encoder of whole sequences": series(
        {"wide": WIDE, "encoder": ENCODER, "mean": Node("ops.mean", {"dim": 1}), "sum": SUM}
    ),
    "convolution over channels": series(
        {
            "channels": CHANNELS,
            "conv": Node("nn.Conv1d", {"out_channels": 8, "kernel_size": 3, "padding": 1}),
            "relu": "nn.ReLU",
            "pool": Node("nn.AdaptiveAvgPool1d", {"output_size": 1}),
            "flatten": "nn.Flatten",
            "sum": SUM,
        }
    ),
    "causal recurrent model": text({"tokens": TOKENS, "gru": Node("nn.GRU", {"hidden_size": 16}), "scores": SCORES}),
    "causal encoder": text(
        {"tokens": TOKENS, "encoder": ENCODER, "scores": SCORES},
        [*CAUSAL, "mask.output -> encoder.src_mask"],
        mask="nn.CausalMask",
    ),
    "causal attention": text(
        {
            "tokens": TOKENS,
            "attend": Node("functional.scaled_dot_product_attention", {"is_causal": True}),
            "relu": "nn.ReLU",
            "scores": SCORES,
        },
        ["tokens.output -> attend.key", "tokens.output -> attend.value"],
    ),
    "causal attention of parts": text(
        {
            "tokens": TOKENS,
            "products": "ops.matmul",
            "hidden": "ops.add",
            "weights": "nn.Softmax",
            "mixed": "ops.matmul",
            "relu": "nn.ReLU",
            "scores": SCORES,
        },
        [
            *CAUSAL,
            "tokens.output -> turned.x",
            "turned.output -> products.y",
            "mask.output -> hidden.y",
            "tokens.output -> mixed.y",
        ],
        mask="nn.CausalMask",
        turned=CHANNELS,
    ),
    "causal convolution": text(
        {
            "tokens": TOKENS,
            "channels": CHANNELS,
            "left": Node("nn.ZeroPad1d", {"padding": [4, 0]}),
            "conv": Node("nn.Conv1d", {"out_channels": 16, "kernel_size": 3, "dilation": 2}),
            "relu": "nn.ReLU",
            "time_first": CHANNELS,
            "scores": SCORES,
        }
    ),
    "convolution whose later steps are cut off": text(
        {
            "tokens": TOKENS,
            "channels": CHANNELS,
            "conv": Node("nn.Conv1d", {"out_channels": 16, "kernel_size": 3, "padding": 2}),
            "cut": Node("ops.narrow", {"dim": 2, "start": 0, "length": 16}),
            "relu": "nn.ReLU",
            "time_first": CHANNELS,
            "scores": SCORES,
        }
    ),
    "attention to a few vectors": text(
        {
            "tokens": TOKENS,
            "attention": Node("nn.MultiheadAttention", {"num_heads": 2}),
            "relu": "nn.ReLU",
            "scores": SCORES,
        },
        [
            *CAUSAL,
            "mask.output -> attention.attn_mask",
            "tokens.output -> attention.key",
            "tokens.output -> attention.value",
        ],
        mask="nn.CausalMask",
    ),
    "class token of an encoder": series(
        {
            "wide": WIDE,
            "token": "nn.ClassToken",
            "encoder": ENCODER,
            "first": Node("ops.select", {"dim": 1, "index": 0}),
            "sum": SUM,
        }
    ),
    "first step of a bidirectional layer": series(
        {
            "gru": Node("nn.GRU", {"hidden_size": 8, "bidirectional": True}),
            "first": Node("ops.select", {"dim": 1, "index": 0}),
            "sum": SUM,
        }
    ),
    "last valid step": series({"gru": Node("nn.GRU", {"hidden_size": 8}), "last": "nn.LastStep", "sum": SUM}),
    "one-hot tokens": text(
        {
            "one_hot": Node("functional.one_hot", {"num_classes": 62}),
            "floats": Node("Tensor.to", {"dtype": "float32"}),
            "gru": Node("nn.GRU", {"hidden_size": 16}),
            "scores": SCORES,
        }
    ),
    "masked padding": text(
        {"tokens": Node("nn.Embedding", {**TOKENS.params, "padding_idx": 0}), "encoder": ENCODER, "scores": SCORES},
        [
            *CAUSAL,
            "mask.output -> encoder.src_mask",
            "batches.input -> padding.input",
            "padding.output -> encoder.src_key_padding_mask",
        ],
        mask="nn.CausalMask",
        padding="nn.PaddingMask",
    ),
}


@pytest.mark.parametrize("document", SOUND.values(), ids=SOUND)
def test_sound_projects_have_no_problem(document: Document) -> None:
    assert codes(document) == []
