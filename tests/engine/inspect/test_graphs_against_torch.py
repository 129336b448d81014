"""Autograd graphs have the nodes, edges, order, saved sizes and versions of PyTorch's."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest

import engine
from engine import inspect

torch = pytest.importorskip("torch")

PROGRAMS = {
    "add": "(x + y).sum()",
    "numbers": "(2 * x - 1).pow(2).mean()",
    "used twice": "(x * x).sum()",
    "shared": "(lambda h: (h + h * h).sum())(x.exp())",
    "leaf used three times": "(x + x.sin() * x).sum()",
    "activations": "(x.tanh() + x.sigmoid() + x.relu()).sum()",
    "softmax": "x.softmax(1).log().mean()",
    "matrix product": "(x @ y).sum()",
    "transpose": "(x.t() @ y).sum()",
    "reductions": "x.mean(0).sum() + x.sum(1).prod()",
    "maximum": "x.max(1)[0].sum()",
    "concatenation": "lib.cat([x, y, x]).sum()",
    "stack": "lib.stack([x, y]).exp().sum()",
    "where": "lib.where(x > 0, x, y).sum()",
    "views": "x.reshape(9).view(3, 3).unsqueeze(0).squeeze(0).sum()",
    "slices": "x[0:2].sum() + x[1].sum() * x[2, 2]",
    "parts": "(lambda p: (p[0] * p[1]).sum())(x[0:2].unbind(0))",
    "detached": "(x.detach() * y + x).sum()",
    "in place": "(x * 1).mul_(y).relu_().sum()",
    "embedding": "F.embedding(lib.tensor([0, 2, 2]), x).sum()",
    "convolution": "F.conv2d(x[None, None], w, w.sum((1, 2, 3))).relu().sum()",
    "layer norm": "F.layer_norm(x, (3,), x[0], y[0]).sum()",
    "linear": "F.linear(x, y, x[0]).sum()",
    "cross entropy": "F.cross_entropy(x, lib.tensor([0, 1, 2]))",
    "square": "x.square().sum()",
}

DIFFERENCES = {
    "transpose": "t() is a permute, so its node is PermuteBackward0 and not TBackward0",
    "stack": "stack concatenates unsqueezed tensors: these nodes instead of StackBackward0",
    "slices": "one op takes a whole index such as [2, 2]; PyTorch has a node for each dimension",
    "parts": "unbind selects each part: a SelectBackward0 for each instead of one UnbindBackward0",
    "embedding": "embedding indexes the weight: IndexBackward0 and ViewBackward0 instead of EmbeddingBackward0",
    "convolution": "one op takes a whole index such as [None, None]; PyTorch has a node for each dimension",
    "linear": "PyTorch transposes the weight in a node of its own; here linear is one op",
    "cross entropy": "PyTorch computes log_softmax in a node of its own; here cross_entropy is one op",
}
"""Program → why its graph differs."""


def _run(text: str, lib: Any) -> tuple[Any, dict[str, Any]]:
    leaves = {
        "x": lib.tensor([[1.0, 0.2, 0.3], [0.4, 2.0, 0.6], [0.7, 0.8, 3.0]], requires_grad=True),
        "y": lib.tensor([[0.5, 1.5, 0.1], [2.4, 0.3, 0.9], [0.2, 1.8, 0.4]], requires_grad=True),
        "w": lib.full((2, 1, 2, 2), 0.5, requires_grad=True),
    }
    return eval(text, {**leaves, "lib": lib, "F": lib.nn.functional}), leaves


def _torch_graph(root: Any) -> tuple[nx.MultiDiGraph, list[str]]:
    """Graph of PyTorch's nodes, and the names of its op nodes in the order in which a backward pass runs them."""
    graph, order, stack = nx.MultiDiGraph(), [], [root]
    nodes = {root: 0}
    while stack:
        node = stack.pop()
        name = type(node).__name__
        graph.add_node(nodes[node], name=name)
        if name != "AccumulateGrad":
            node.register_prehook(lambda grads, name=name: order.append(name))
        for target, _ in node.next_functions:
            if target is not None:
                if target not in nodes:
                    nodes[target] = len(nodes)
                    stack.append(target)
                graph.add_edge(nodes[node], nodes[target])
    return graph, order


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", PROGRAMS)
def test_graph_equals_pytorch(name: str) -> None:
    theirs, their_leaves = _run(PROGRAMS[name], torch)
    expected, their_order = _torch_graph(theirs.grad_fn)
    theirs.backward()
    with inspect.recording() as seen:
        ours, leaves = _run(PROGRAMS[name], engine)
        ours.backward(retain_graph=True)
    graph = inspect.autograd_graph(ours, seen, leaves)
    found = graph.networkx()
    is_equal = nx.is_isomorphic(found, expected, node_match=lambda a, b: a["name"] == b["name"])
    assert is_equal == (name not in DIFFERENCES)
    if is_equal:
        assert [node.name for node in graph.nodes if node.leaf is None] == their_order
    for node in graph.nodes:
        if node.leaf:
            assert node.gradient_norm == pytest.approx(float(their_leaves[node.leaf].grad.norm()), rel=1e-5)
    assert graph.nodes[0].name == type(theirs.grad_fn).__name__ or not is_equal


@pytest.mark.parametrize("lib", [engine, torch], ids=["engine", "torch"])
def test_versions_of_saved_tensors(lib: Any) -> None:
    """The versions in the graph are those that PyTorch's error names."""
    x = lib.ones(3, requires_grad=True)
    hidden = x * 2
    result = hidden.exp()
    loss = result.sum()
    result.add_(1)
    result.add_(1)
    if lib is engine:
        [(node, saved)] = inspect.autograd_graph(loss).changed
        assert (node.name, saved.name, saved.version, saved.current_version) == ("ExpBackward0", "result", 0, 2)
    with pytest.raises(RuntimeError, match="version 2"):
        loss.backward()
