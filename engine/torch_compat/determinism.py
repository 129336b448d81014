"""Switches of how PyTorch computes, such as whether results may differ from run to run. The engine's never do, so they
only remember their state."""

from __future__ import annotations

from typing import Literal

_mode: int = 0
_precision: str = "highest"
_warn_always: bool = False


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Asks that equal runs give equal results, as they do anyway."""
    set_deterministic_debug_mode(0 if not mode else 1 if warn_only else 2)


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was last told."""
    return _mode > 0


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether it was told to warn only."""
    return _mode == 1


def set_deterministic_debug_mode(debug_mode: int | Literal["default", "warn", "error"]) -> None:
    """The same as a number from 0 to 2, or a word."""
    global _mode
    words = ("default", "warn", "error")
    _mode = words.index(debug_mode) if isinstance(debug_mode, str) else int(debug_mode)


def get_deterministic_debug_mode() -> int:
    """0 "default", 1 "warn" or 2 "error"."""
    return _mode


def set_float32_matmul_precision(precision: Literal["highest", "high", "medium"]) -> None:
    """How exact float32 matrix products must be at least; here they always are of the highest precision."""
    global _precision
    if precision not in ("highest", "high", "medium"):
        raise ValueError(f"precision is 'highest', 'high' or 'medium', not {precision!r}")
    _precision = precision


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was last told."""
    return _precision


def set_warn_always(b: bool, /) -> None:
    """Whether PyTorch says a warning each time; Python's own `warnings.simplefilter` decides that here."""
    global _warn_always
    _warn_always = b


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was last told."""
    return _warn_always


def set_flush_denormal(mode: bool) -> bool:
    """Asks that numbers too small for full precision become 0. False: they stay as they are."""
    return False


__all__ = [
    "are_deterministic_algorithms_enabled",
    "get_deterministic_debug_mode",
    "get_float32_matmul_precision",
    "is_deterministic_algorithms_warn_only_enabled",
    "is_warn_always_enabled",
    "set_deterministic_debug_mode",
    "set_float32_matmul_precision",
    "set_flush_denormal",
    "set_warn_always",
    "use_deterministic_algorithms",
]
