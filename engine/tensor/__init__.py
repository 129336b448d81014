"""The tensor class, in parts: history, memory, conversion, exchange with NumPy, methods from the op registry."""

from engine.storage import Size as Size
from engine.storage import Storage as Storage
from engine.tensor.tensor import Tensor as Tensor

__all__ = ["Size", "Storage", "Tensor"]
