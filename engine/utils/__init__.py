"""torch.utils: data loading, DLPack, gradient checkpointing."""

from __future__ import annotations

from engine.utils import checkpoint as checkpoint
from engine.utils import data as data
from engine.utils import dlpack as dlpack

__all__ = ["checkpoint", "data", "dlpack"]
