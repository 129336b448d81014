"""The typed graph that a recording becomes: values without memory, writes only at the end."""

from engine.compiler.graph.build import build as build
from engine.compiler.graph.check import check as check
from engine.compiler.graph.values import Graph as Graph
from engine.compiler.graph.values import Node as Node
from engine.compiler.graph.values import Operand as Operand
from engine.compiler.graph.values import Output as Output
from engine.compiler.graph.values import Unplanned as Unplanned
from engine.compiler.graph.values import Value as Value

__all__ = ["Graph", "Node", "Operand", "Output", "Unplanned", "Value", "build", "check"]
