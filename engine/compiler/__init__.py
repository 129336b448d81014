"""`engine.compile`: ops are recorded, and run together."""

from engine.compiler.function import Compiled as Compiled
from engine.compiler.function import compile as compile

__all__ = ["Compiled", "compile"]
