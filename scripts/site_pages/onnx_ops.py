"""The reference of ops and layers in ONNX files, from their translators."""

from __future__ import annotations

from collections.abc import Iterator

from engine.onnx.model_writer import register_translators
from engine.onnx.translators import LAYER_TRANSLATORS, REASONS, TRANSLATORS
from engine.ops.record import REGISTRY
from studio.reference.markdown import code, fence, joined, table

PATH = "reference/onnx.md"


def pages() -> Iterator[tuple[str, str]]:
    """Yield the page of ONNX ops."""
    register_translators()
    exported = sorted(TRANSLATORS.keys() & REGISTRY.keys())
    layers = sorted(LAYER_TRANSLATORS.items(), key=lambda pair: (pair[1].since, pair[0].__name__))
    reasons = {reason: [name for name in REASONS if REASONS[name] == reason] for reason in REASONS.values()}
    yield (
        PATH,
        joined(
            [
                "# Ops in ONNX files",
                "Look up whether an op can be [exported to ONNX](../how-to/export-onnx.md), and if not, why.",
                fence("sh", "gradwire export digits.gradwire --to onnx --opset 20 -o digits.onnx"),
                "## Ops that can be exported",
                ", ".join(map(code, exported)) + ".",
                "Functions that are compositions of these ops, and all layers, can be exported too.",
                "## Layers that are one ONNX op",
                "The engine composes these layers of several ops. From this opset on, a file has one op for them:",
                table(("layer", "opset"), [(code(layer.__name__), str(one.since)) for layer, one in layers]),
                "## Ops that cannot be exported",
                table(("reason", "ops"), [(reason, ", ".join(map(code, names))) for reason, names in reasons.items()]),
            ]
        ),
    )


__all__ = ["PATH", "pages"]
