"""Lowers a document to a Python program: checks, shape inference, statistics per node, and code generation."""

from studio.lowering.analysis.node_facts import NodeInfo as NodeInfo
from studio.lowering.analysis.node_graph import node_type as node_type
from studio.lowering.check import check as check
from studio.lowering.connection_rules import refusal as refusal
from studio.lowering.problems.problem import Fix as Fix
from studio.lowering.problems.problem import Problem as Problem
from studio.lowering.program import LoweringError as LoweringError
from studio.lowering.program import Program as Program
from studio.lowering.program import lower as lower
from studio.lowering.report import Report as Report

__all__ = [
    "Fix",
    "LoweringError",
    "NodeInfo",
    "Problem",
    "Program",
    "Report",
    "check",
    "lower",
    "node_type",
    "refusal",
]
