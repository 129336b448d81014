"""The typed graph that a recording becomes: values without memory, writes only at the end."""

from engine.compiler.ir.build_graph import build_graph as build_graph
from engine.compiler.ir.ir_graph import IRGraph as IRGraph
from engine.compiler.ir.ir_graph import IRNode as IRNode
from engine.compiler.ir.ir_graph import IROperand as IROperand
from engine.compiler.ir.ir_graph import IROutput as IROutput
from engine.compiler.ir.ir_graph import IRValue as IRValue
from engine.compiler.ir.ir_graph import PlanUnsupported as PlanUnsupported
from engine.compiler.ir.verify_graph import verify_graph as verify_graph

__all__ = ["IRGraph", "IRNode", "IROperand", "IROutput", "IRValue", "PlanUnsupported", "build_graph", "verify_graph"]
