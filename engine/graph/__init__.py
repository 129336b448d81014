"""The autograd graph: nodes, saved tensors, hooks and the backward pass. Independent of the array library.

Members used of a tensor: `edge`, `_array`, `_storage.version`, `_grad`, `+`, and for leaves `_hooks` and
`_accumulate(gradient)`. The backward pass is iterative, so graphs of any depth are freed and run without recursion.
"""

from engine.graph.gradients import backward as backward
from engine.graph.gradients import grad as grad
from engine.graph.node import AccumulateGrad as AccumulateGrad
from engine.graph.node import Edge as Edge
from engine.graph.node import GradientEdge as GradientEdge
from engine.graph.node import Node as Node
from engine.graph.node import SourceLocation as SourceLocation
from engine.graph.op_node import OpNode as OpNode
from engine.graph.removable_handle import RemovableHandle as RemovableHandle
from engine.graph.traversal import reachable as reachable

__all__ = [
    "AccumulateGrad",
    "Edge",
    "GradientEdge",
    "Node",
    "OpNode",
    "SourceLocation",
    "RemovableHandle",
    "backward",
    "grad",
    "reachable",
]
