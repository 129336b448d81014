"""Graph breaks: where a compiled function has to stop and look at numbers, and how to do without.

`engine.compile` runs a function's Python on every call, but not its ops: they are recorded, and run together when their
numbers are needed. A matrix product, a branch on its mean, and more products are therefore two pieces of work, two
islands, with a bridge between them: Python cannot know which way to go before the first island has been computed.

Run it: python examples/engine/graph_breaks.py
"""

from __future__ import annotations

import engine
from engine.compiler import explain


@engine.compile
def branching(a: engine.Tensor, b: engine.Tensor) -> engine.Tensor:
    x = a @ b
    x = x @ b
    if x.mean() > 0:
        x = x @ b
    else:
        x = x @ a.T
    return x @ a


def show(what: str) -> None:
    breaks = sum(one.count for one in branching.report.breaks.values())
    print(f"{what}: {branching.report.calls} calls, {branching.recorded} ops recorded, {breaks} breaks")


engine.manual_seed(0)
a, b = engine.rand(64, 64) / 8, engine.eye(64)

print("1. The first call records each op as it runs; later calls find the recording and run it at once.\n")
for _ in range(3):
    branching(a, b)
show("positive mean")

print("\n2. The other side of the branch is a path that no call went before. It is recorded once.\n")
for _ in range(3):
    branching(-a, b)
show("negative mean")
for sign in (1, -1, 1, -1):
    branching(sign * a, b)
show("both in turn")

print("\n3. What the compiler has to say about it.\n")
print(explain(branching)(a, b))

print("\n4. Both sides computed and one chosen: no question to Python, no break, one island.\n")


@engine.compile(fullgraph=True)  # which would raise at a break, with its explanation
def choosing(a: engine.Tensor, b: engine.Tensor) -> engine.Tensor:
    x = a @ b
    x = x @ b
    x = engine.where(x.mean() > 0, x @ b, x @ a.T)
    return x @ a


for sign in (1, -1):
    assert engine.allclose(choosing(sign * a, b), branching(sign * a, b))
print(explain(choosing)(a, b))
