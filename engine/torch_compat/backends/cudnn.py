"""torch.backends.cudnn: switches without effect, as the engine does not use cuDNN."""

from __future__ import annotations

from typing import Any

from engine.torch_compat.backends.switches import flags_of

enabled = True
benchmark = False
benchmark_limit = 10
deterministic = False
allow_tf32 = True
fp32_precision = "none"

flags = flags_of(globals(), "enabled", "benchmark", "benchmark_limit", "deterministic", "allow_tf32", "fp32_precision")


def is_available() -> bool:
    """Return False."""
    return False


def is_acceptable(tensor: Any) -> bool:
    """Return False."""
    return False


def version() -> int | None:
    """Return None."""
    return None
