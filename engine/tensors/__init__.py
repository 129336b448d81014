"""The tensor class, its memory and autograd state, op dispatch, and the functions that create tensors.

Importing a module of this package first runs this file. It adds the methods of `Tensor`: the ops of the registry and
the functions of this package that are also methods.
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
