"""The engine's version, under the names of torch.version. CuPy provides the GPU toolkit."""

from __future__ import annotations

__version__ = "0.1.0"
debug = False
cuda: str | None = None
hip: str | None = None
rocm: str | None = None
xpu: str | None = None
git_version = "unknown"
"""A release does not record its commit."""

__all__ = ["cuda", "debug", "git_version", "hip", "rocm", "xpu"]
