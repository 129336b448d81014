"""Graph breaks: where a compiled function needs values, and how to avoid this.

`engine.compile` runs a function's Python on every call, but records its ops and runs them together when a value is
needed. A matrix product, a branch on its mean, and more products are therefore two segments with a graph break between
them: Python can take the branch only after the first segment has run.

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


def show(title: str) -> None:
    breaks = sum(one.count for one in branching.report.breaks.values())
    print(f"{title}: {branching.report.calls} calls, {branching.recorded} ops recorded, {breaks} breaks")


engine.manual_seed(0)
a, b = engine.rand(64, 64) / 8, engine.eye(64)

print("1. The first call records ops while they run; later calls run the recording.\n")
for _ in range(3):
    branching(a, b)
show("positive mean")

print("\n2. The other side of the branch is a new path. It is recorded once.\n")
for _ in range(3):
    branching(-a, b)
show("negative mean")
for sign in (1, -1, 1, -1):
    branching(sign * a, b)
show("both in turn")

print("\n3. The explanation of the compiler.\n")
print(explain(branching)(a, b))

print("\n4. Computing both sides and choosing one: no value needed, no graph break, one segment.\n")


@engine.compile(fullgraph=True)  # raises at a graph break
def choosing(a: engine.Tensor, b: engine.Tensor) -> engine.Tensor:
    x = a @ b
    x = x @ b
    x = engine.where(x.mean() > 0, x @ b, x @ a.T)
    return x @ a


for sign in (1, -1):
    assert engine.allclose(choosing(sign * a, b), branching(sign * a, b))
print(explain(choosing)(a, b))
