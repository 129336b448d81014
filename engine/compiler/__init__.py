"""`engine.compile`: ops are recorded, and run together."""

from engine.compiler.compile_api import allow_in_graph as allow_in_graph
from engine.compiler.compile_api import compile as compile
from engine.compiler.compile_api import disable as disable
from engine.compiler.compile_api import get_default_backend as get_default_backend
from engine.compiler.compile_api import graph_break as graph_break
from engine.compiler.compile_api import is_compiling as is_compiling
from engine.compiler.compile_api import is_dynamo_compiling as is_dynamo_compiling
from engine.compiler.compile_api import is_exporting as is_exporting
from engine.compiler.compile_api import list_backends as list_backends
from engine.compiler.compile_api import reset as reset
from engine.compiler.compile_api import wait as wait
from engine.compiler.compiled_function import CompiledFunction as CompiledFunction
from engine.compiler.explain import explain as explain
from engine.compiler.explanation import Explanation as Explanation

__all__ = [
    "CompiledFunction",
    "Explanation",
    "allow_in_graph",
    "compile",
    "disable",
    "explain",
    "get_default_backend",
    "graph_break",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "wait",
]
