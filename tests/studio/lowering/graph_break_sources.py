"""Sources with graph breaks: those that can be rewritten, with what the rewrite contains, and those that cannot."""

from __future__ import annotations

from textwrap import dedent


def _source(text: str) -> str:
    return dedent(text).lstrip("\n")


MENDED: dict[str, tuple[str, tuple[str, ...]]] = {
    name: (_source(text), parts)
    for name, (text, parts) in {
        "choice": (
            "def f(x):\n    if x.sum() > 0:\n        x = x * 2\n    return x\n",
            ("engine.where(x.sum() > 0, x * 2, x)",),
        ),
        "choice with else": (
            """
            def f(x):
                if x.mean() > 0:
                    y = x + 1
                else:
                    y = x - 1
                return y
            """,
            ("y = engine.where(x.mean() > 0, x + 1, x - 1)",),
        ),
        "elif": (
            """
            def f(x):
                if x.mean() > 1:
                    y = x * 2
                elif x.mean() > 0:
                    y = x * 3
                else:
                    y = x
                return y
            """,
            ("engine.where(x.mean() > 1, x * 2, engine.where(x.mean() > 0, x * 3, x))",),
        ),
        "two variables": (
            """
            def f(x):
                a, b = x, x * 2
                if x.max() > 1:
                    a = x + 1
                    b = x + 2
                return a * b
            """,
            ("is_chosen = x.max() > 1", "a, b = engine.where(is_chosen, x + 1, a), engine.where(is_chosen, x + 2, b)"),
        ),
        "variable of the branch": (
            """
            def f(x):
                big = x.abs().max()
                if big > 1:
                    scale = 1 / (big + 1)
                    x = x * scale
                return x
            """,
            ("scale = 1 / (big + 1)", "x = engine.where(big > 1, x * scale, x)"),
        ),
        "added in place": (
            "def f(x):\n    y = x * 1\n    if x.max() > 1:\n        y += 1\n    return y\n",
            ("y = engine.where(x.max() > 1, y + 1, y)",),
        ),
        "two results": (
            "def f(x):\n    if x.mean() > 0:\n        return x * 2\n    return x\n",
            ("return engine.where(x.mean() > 0, x * 2, x)",),
        ),
        "results with else": (
            "def f(x):\n    if x.mean() > 0:\n        return x * 2\n    else:\n        return -x\n",
            ("return engine.where(x.mean() > 0, x * 2, -x)",),
        ),
        "early result": (
            """
            def f(x):
                if x.mean() > 0:
                    return x
                y = x * 2  # twice
                z = y + 1
                return z
            """,
            ("y = x * 2  # twice", "return engine.where(x.mean() > 0, x, z)"),
        ),
        "expression": (
            "def f(x):\n    return x if x.mean() > 0 else -x\n",
            ("return engine.where(x.mean() > 0, x, -x)",),
        ),
        "and": (
            "def f(x):\n    if x.mean() > 0 and x.max() > 1:\n        x = x * 2\n    return x\n",
            ("engine.logical_and(x.mean() > 0, x.max() > 1)",),
        ),
        "not": (
            "def f(x):\n    if not x.mean() > 0:\n        x = x * 2\n    return x\n",
            ("engine.logical_not(x.mean() > 0)",),
        ),
        "chained comparison": (
            "def f(x):\n    if -1 < x.mean() < 1:\n        x = x * 2\n    return x\n",
            ("engine.logical_and(-1 < x.mean(), x.mean() < 1)",),
        ),
        "truth of a number": (
            "def f(x):\n    if x.sum() - 1:\n        x = x * 2\n    return x\n",
            ("engine.where((x.sum() - 1) != 0, x * 2, x)",),
        ),
        "torch": (
            "def f(x):\n    y = torch.tanh(x)\n    if y.sum() > 0:\n        y = y * 2\n    return y\n",
            ("torch.where(y.sum() > 0, y * 2, y)",),
        ),
        "larger of two": ("def f(x):\n    return x * max(x.mean(), x.std())\n", ("engine.where(x.std() > x.mean()",)),
        "item in a condition": (
            "def f(x):\n    if x.max().item() < 10:\n        return x\n    return x.clamp(max=10)\n",
            ("return engine.where(x.max() < 10, x, x.clamp(max=10))",),
        ),
        "item": ("def f(x):\n    scale = x.max().item()\n    return x * scale\n", ("scale = x.max().detach()",)),
        "item in arithmetic": (
            "def f(x):\n    return x / (x.abs().max().item() + 1)\n",
            ("x / (x.abs().max().detach() + 1)",),
        ),
        "float": ("def f(x):\n    return x * float(x.mean())\n", ("x * x.mean().detach()",)),
        "float of item": ("def f(x):\n    return x * float(x.mean().item())\n", ("x * x.mean().detach()",)),
        "int": ("def f(x):\n    return x * int(x.max() * 10)\n", ("(x.max() * 10).detach().long()",)),
        "math": (
            "import math\n\ndef f(x):\n    return x * math.sqrt(x.abs().sum())\n",
            ("engine.sqrt(x.abs().sum().detach())",),
        ),
        "sum of a list": ("def f(x):\n    return x * sum(x.mean(1).tolist())\n", ("x * x.mean(1).detach().sum()",)),
        "tensor of a list": (
            "def f(x):\n    return x * engine.tensor((x * 2).tolist())\n",
            ("x * (x * 2).detach().clone()",),
        ),
        "numpy": (
            "import numpy as np\n\ndef f(x):\n    return x * engine.from_numpy(np.sin(x.detach().numpy()))\n",
            ("engine.sin(x.detach())",),
        ),
        "maximum of an array": (
            "def f(x):\n    return x / (1 + abs(float(x.detach().numpy().max())))\n",
            ("x.detach().max()",),
        ),
        "print": ("def f(x):\n    print('largest', x.max())  # look\n    return x * 2\n", ("return x * 2",)),
        "unused text": ("def f(x):\n    text = f'{x.max():.3f}'\n    return x * 2\n", ("return x * 2",)),
        "assertion": ("def f(x):\n    assert (x < 1e9).all()\n    return x * 2\n", ("return x * 2",)),
        "loop over elements": (
            """
            def f(x):
                total = 0.0
                for value in x.mean(1):
                    total += value.item() ** 2
                return x * total
            """,
            ("total = total + (x.mean(1).detach() ** 2).sum()",),
        ),
        "loop over indices": (
            """
            def f(x):
                means, total = x.mean(1), 0.0
                for i in range(len(means)):
                    total += float(means[i]) * 2
                return x * total
            """,
            ("(means.detach() * 2).sum()",),
        ),
        "counting loop": (
            """
            def f(x):
                active = 0
                for unit in x.sum(0):
                    if unit > 0:
                        active += 1
                return x * (x.shape[1] / (1 + active))
            """,
            ("active = active + (x.sum(0) > 0).sum()",),
        ),
        "sum of some elements": (
            """
            def f(x):
                total = 0.0
                for value in x.mean(1):
                    if value > 0:
                        total += value * 2
                return x * total
            """,
            ("total = total + engine.where(x.mean(1) > 0, x.mean(1) * 2, 0).sum()",),
        ),
        "list of elements": (
            "def f(x):\n    m = x.mean(1)\n    return x * engine.tensor([v.item() * 2 for v in m])[:, None]\n",
            ("m.detach() * 2",),
        ),
        "product of elements": (
            """
            def f(x):
                total = 1.0
                for value in x.mean(1):
                    total *= value.item()
                return x * total
            """,
            ("total *= value.detach()",),
        ),
        "running total": (
            """
            def f(x):
                total = 1.0
                for value in x.mean(1):
                    total += total * value.item()
                return x * total
            """,
            ("total += total * value.detach()",),
        ),
        "selected sum": ("def f(x):\n    return x * x[x > 0].sum()\n", ("engine.where(x > 0, x, 0).sum()",)),
        "copy": ("import copy\n\ndef f(x):\n    y = copy.deepcopy(x.detach() * 2)\n    return x + y\n", (".clone()",)),
        "explicit": ("def f(x):\n    y = x * 2\n    engine.graph_break()\n    return y\n", ("return y",)),
        "several breaks": (
            """
            def f(x):
                scale = x.abs().max().item()
                if x.mean() > 0:
                    x = x * 2
                return x * scale
            """,
            ("x.abs().max().detach()", "engine.where(x.mean() > 0, x * 2, x)"),
        ),
        "module": (
            """
            class Gate(nn.Module):
                def __init__(self, features: int = 8):
                    super().__init__()
                    self.linear = nn.Linear(features, features)

                def forward(self, x):
                    y = self.linear(x)
                    if y.mean() > 0:  # open
                        y = y * 2
                    return y
            """,
            ("# open", "y = engine.where(y.mean() > 0, y * 2, y)"),
        ),
    }.items()
}
"""Name → source, and parts of the rewritten source."""

REFUSED: dict[str, tuple[str, str]] = {
    name: (_source(text), reason)
    for name, (text, reason) in {
        "zero division": (
            "def f(x):\n    big = x.abs().max()\n    if big > 0:\n        x = x / big\n    return x\n",
            "the gradient differs for zeros",
        ),
        "changed dtype": (
            "def f(x):\n    if x.mean() > 1e6:\n        x = x.double()\n    return x\n",
            "the dtype of the result differs",
        ),
        "changed shape": (
            "def f(x):\n    if x.mean() > 1e6:\n        x = x.sum(0, keepdim=True)\n    return x\n",
            "the shape of the result differs",
        ),
        "data-dependent loop": (
            "def f(x):\n    while x.abs().max() > 1:\n        x = x / 2\n    return x\n",
            "the number of ops depends on the data",
        ),
        "counter": (
            """
            class Counted(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.calls = 0

                def forward(self, x):
                    if x.mean() > 0:
                        self.calls = self.calls + 1
                        x = x * 2
                    return x
            """,
            "both branches cannot be computed",
        ),
        "counter in a method": (
            """
            class Counted(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.calls = 0

                def double(self, x):
                    self.calls += 1
                    return x * 2

                def forward(self, x):
                    if x.mean() > 0:
                        x = self.double(x)
                    return x
            """,
            "ets self.calls, so both branches cannot be computed",
        ),
        "statistics of a layer": (
            """
            class Normalized(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.norm = nn.BatchNorm1d(8)

                def forward(self, x):
                    if x.mean() > 0:
                        x = self.norm(x)
                    return x
            """,
            "what the code changes",
        ),
        "random numbers": (
            "def f(x):\n    if x.mean() > 0:\n        x = x + engine.randn(1)\n    return x\n",
            "the random numbers that it draws",
        ),
        "random numbers of a layer": (
            "def f(x):\n    if x.mean() > 0:\n        x = F.dropout(x, 0.5, True)\n    return x\n",
            "the random numbers that it draws",
        ),
        "list of calls": (
            "seen = []\n\ndef f(x):\n    if x.mean() > 0:\n        seen.append(1)\n        x = x * 2\n    return x\n",
            "both branches cannot be computed",
        ),
        "loop in a branch": (
            "def f(x):\n    if x.mean() > 0:\n        for i in range(3):\n            x = x * 2\n    return x\n",
            "more than variables",
        ),
        "error in a branch": (
            "def f(x):\n    if x.mean() > 1e6:\n        raise ValueError('too large')\n    return x\n",
            "more than variables",
        ),
        "size from a value": (
            "def f(x):\n    n = int(x.abs().max()) + 1\n    return x[:, :n].sum(1)\n",
            "for more than arithmetic",
        ),
        "range of a value": (
            "def f(x):\n    for i in range(int(x.abs().max())):\n        x = x + 1\n    return x\n",
            "for more than arithmetic",
        ),
        "rounded number": (
            "def f(x):\n    return x * round(x.mean().item(), 2)\n",
            "the rewritten code fails",
        ),
        "defined in one branch": (
            """
            def f(x):
                if x.mean() > 1e6:
                    y = x
                else:
                    z = x
                    y = z * 2
                return y if x.ndim else z
            """,
            "",
        ),
        "sorted values": (
            "def f(x):\n    order = sorted(x.mean(1).tolist())\n    return x * order[0]\n",
            "for more than arithmetic",
        ),
        "library": (
            "import json\n\ndef f(x):\n    text = json.dumps(x.mean(1).tolist())\n    return x * len(text)\n",
            "the rewritten code fails",
        ),
        "error behind a branch": (
            "def f(x):\n    if x.abs().max() < 1e9:\n        return x\n    y = x.reshape(3, -1, 1)\n    return y\n",
            "the rewritten code fails",
        ),
        "changed input": (
            "def f(x):\n    if x.max() > 1:\n        x += 1\n    return x * 2\n",
            "changes x in place, so both branches cannot be computed",
        ),
    }.items()
}
"""Name → source, and a part of the reason."""
