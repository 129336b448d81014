"""Tensors: the class, its memory and history, the dispatch of ops to it, and the functions that create tensors.

Importing any module of this package first runs this file, which gives `Tensor` its methods: those of the op registry,
and those that are written as functions of this package.
"""

from engine.shape import Size as Size
from engine.system import malloc
from engine.tensors import creation, dispatch, indexing, methods, predicates
from engine.tensors.storage import Storage as Storage
from engine.tensors.tensor import Tensor as Tensor

malloc.keep_freed_memory()
methods.install(
    Tensor,
    dispatch.run_in_place,
    {"_move": dispatch.move, **indexing.METHODS, **predicates.METHODS, **creation.METHODS},
)

__all__ = ["Size", "Storage", "Tensor"]
