"""torch._dynamo: the functions of `engine.compiler` that PyTorch has there."""

from engine.compiler import disable as disable
from engine.compiler import is_compiling as is_compiling
from engine.compiler import reset as reset
from engine.torch_compat.dynamo import config as config

__all__ = ["config", "disable", "is_compiling", "reset"]
