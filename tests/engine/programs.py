"""Random programs over ops, views and in-place writes, and a machine that runs one in any library with PyTorch's names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

UNARY = ("tanh", "sigmoid", "sin", "neg", "abs", "relu", "clone", "contiguous", "detach", "exp_of_tanh", "cube", "inverse", "root", "softplus", "clamp", "float_and_back", "cos", "floor", "sign")
BINARY = ("add", "sub", "mul", "maximum", "minimum", "matmul", "lerp", "where", "cat", "stack", "div", "remainder", "addcdiv", "compare", "scatter_add")
VIEWS = ("transpose", "T", "unsqueeze", "squeeze", "flatten", "reshape", "view", "unflatten", "chunk", "split", "mT", "expand", "narrow", "index", "diagonal_rows")
PICKS = ("take", "mask", "index_select", "gather", "max", "flip")
REDUCTIONS = ("sum", "mean", "amax", "sum0", "mean1", "softmax", "logsumexp", "var", "prod", "prod1", "amin1", "std", "log_softmax", "argmax", "norm")
WRITES_ALONE = ("tanh_", "sigmoid_", "neg_", "zero_", "relu_", "sin_", "abs_", "sqrt_of_square", "add_number", "mul_number", "fill_")
WRITES = ("add_", "sub_", "mul_", "copy_", "iadd", "imul", "setitem", "set_number", "set_taken", "set_mask", "lerp_", "addcmul_", "div_", "pow_", "addcdiv_", "where_", "set_column")
INDICES: tuple[Any, ...] = (
    0, -1, slice(1, None), slice(None, -1), slice(None, None, 2), (slice(None), 0), (slice(None), slice(1, 3)),
    (Ellipsis, None), (Ellipsis, -1), (None, 0), (slice(1, 2), slice(None, None, 2)), slice(2, 1), Ellipsis,
)  # fmt: skip
SHAPES = ((6,), (2, 3), (3, 2), (-1, 1), (3, -1), (1, -1), (-1,), (4, 3), (2, 2, -1))
EXPANSIONS = ((3, -1), (2, -1, -1), (3, 4), (-1, 3), (2, 3, 4))


@dataclass(frozen=True)
class Step:
    """One operation on the values made so far; `left` and `right` count modulo how many there are."""

    name: str
    left: int
    right: int = 0
    choice: int = 0
    recorded: bool = True
    """False: under no_grad."""


def steps() -> st.SearchStrategy[Step]:
    names = (*UNARY, *BINARY, *VIEWS, *VIEWS, *PICKS, *REDUCTIONS, *WRITES_ALONE, *WRITES, *WRITES, "requires_grad_", "backward")
    number = st.integers(0, 11)
    return st.builds(
        Step, st.sampled_from(names), number, number, st.integers(0, 12), st.sampled_from([True, True, True, True, False])
    )


class Machine:
    """Runs steps in the library `lib`; `values` are what they made, leaves first."""

    def __init__(self, lib: Any, device: str = "cpu") -> None:
        self.lib = lib
        self._functional = lib.nn.functional
        random = np.random.default_rng(0)
        drawn = [random.normal(size=shape).round(3) for shape in ((3, 4), (4,), (3, 1), (3, 4), (2, 3, 4))]
        self.values = [lib.tensor(array.tolist(), dtype=lib.float64, device=device) for array in drawn]
        for leaf in self.values[:3]:
            leaf.requires_grad_()
        self.leaves = list(self.values)

    def run(self, step: Step) -> None:
        x, y = self.values[step.left % len(self.values)], self.values[step.right % len(self.values)]
        # What a view made under no_grad is differs on purpose; test_views_and_in_place.py says how.
        if step.recorded or step.name in VIEWS:
            result = self._apply(step, x, y)
        else:
            with self.lib.no_grad():
                result = self._apply(step, x, y)
        if result is not None:
            self.values.append(result)

    def _apply(self, step: Step, x: Any, y: Any) -> Any:
        for names, method in (
            (UNARY, self._unary), (BINARY, self._binary), (VIEWS, self._view), (PICKS, self._pick), (REDUCTIONS, self._reduce),
            (WRITES_ALONE, self._write_alone), (WRITES, self._write),
        ):  # fmt: skip
            if step.name in names:
                return method(step, x, y)
        return self._autograd(step, x)

    def _unary(self, step: Step, x: Any, y: Any) -> Any:
        match step.name:
            case "exp_of_tanh":
                return x.tanh().exp()
            case "cube":
                return x.sin() ** 3
            case "inverse":
                return 1 / (x.abs() + 0.5)
            case "root":
                return (x * x + 0.1).sqrt()
            case "softplus":
                return self._functional.softplus(x)
            case "clamp":
                return x.clamp(-0.5, 0.5)
            case "float_and_back":
                return (x.float() * 2).double()
            case _:
                return getattr(x, step.name)()

    def _binary(self, step: Step, x: Any, y: Any) -> Any:
        if step.name == "where":
            return self.lib.where(x > 0, x, y)
        if step.name in ("cat", "stack"):
            return getattr(self.lib, step.name)([x, y], dim=(0, -1)[step.choice % 2])
        if step.name == "lerp":
            return x.lerp(y, 0.25)
        if step.name == "mul":
            return x * y.tanh()
        if step.name in ("div", "remainder"):
            return getattr(x, step.name)(y.abs() + 0.5)
        if step.name == "addcdiv":
            return x.addcdiv(y, y.abs() + 0.5, value=2)
        if step.name == "compare":
            return (x > y).double() * x
        if step.name == "scatter_add":
            return x.scatter_add(0, (y > 0).long(), y) if x.ndim == y.ndim else x.clone()
        return getattr(x, step.name)(y)

    def _view(self, step: Step, x: Any, y: Any) -> Any:
        match step.name:
            case "transpose":
                return x.transpose(0, -1)
            case "T":
                return x.T if x.ndim == 2 else x.permute(*reversed(range(x.ndim)))
            case "unsqueeze":
                return x.unsqueeze((0, -1, 1)[step.choice % 3])
            case "squeeze":
                return x.squeeze() if step.choice % 2 else x.squeeze(-1)
            case "mT":
                return x.mT
            case "unflatten":
                return x.unflatten(-1, (2, -1))
            case "chunk":
                return x.chunk(2, dim=(0, -1)[step.choice % 2])[-1].clone()
            case "split":
                return x.split(2, dim=(0, -1)[step.choice % 2])[0].clone()
            case "flatten":
                return x.flatten()
            case "reshape" | "view":
                return getattr(x, step.name)(*SHAPES[step.choice % len(SHAPES)])
            case "expand":
                return x.expand(*EXPANSIONS[step.choice % len(EXPANSIONS)])
            case "narrow":
                return x.narrow(0, step.choice % 2, 1)
            case "diagonal_rows":
                return x[step.choice % 2].T if x.ndim == 3 else x[..., step.choice % 2]
            case _:
                return x[INDICES[step.choice]]

    def _pick(self, step: Step, x: Any, y: Any) -> Any:
        whole = self.lib.tensor([0, step.choice % 3, 0], device=x.device)
        match step.name:
            case "take":
                return x[whole] if step.choice % 2 else x[..., whole]
            case "mask":
                return x[x > 0]
            case "index_select":
                return x.index_select(0, whole)
            case "gather":
                return x.gather(-1, (x > 0).long())
            case "max":
                return x.max(-1).values
            case _:
                return x.flip(0)

    def _reduce(self, step: Step, x: Any, y: Any) -> Any:
        match step.name:
            case "sum0":
                return x.sum(0)
            case "mean1":
                return x.mean(-1, keepdim=True)
            case "softmax":
                return x.softmax(-1)
            case "logsumexp":
                return x.logsumexp(0)
            case "var":
                return x.var(0)
            case "std":
                return (x.var(-1, correction=0) + 0.1).sqrt()
            case "prod1":
                return x.prod(-1)
            case "amin1":
                return x.amin(-1, keepdim=True)
            case "log_softmax":
                return x.log_softmax(0)
            case "argmax":
                return x.argmax(-1).double() + x.argmin().double()
            case "norm":
                return (x * x).sum((0, -1)).add(0.1).sqrt()
            case _:
                return getattr(x, step.name)()

    def _write_alone(self, step: Step, x: Any, y: Any) -> None:
        match step.name:
            case "add_number":
                x += 0.5
            case "mul_number":
                x.mul_(-0.5)
            case "sqrt_of_square":
                x.abs_().add_(0.1).sqrt_()
            case "fill_":
                x.fill_(0.25)
            case _:
                getattr(x, step.name)()

    def _write(self, step: Step, x: Any, y: Any) -> None:
        whole = self.lib.tensor([0, -1], device=x.device)
        y = y.clone() if y is x else y
        match step.name:
            case "iadd":
                x += y
            case "imul":
                x *= y.tanh()
            case "mul_":
                x.mul_(y.tanh())
            case "setitem":
                x[INDICES[step.choice]] = y
            case "set_number":
                x[INDICES[step.choice]] = 0.5
            case "set_taken":
                x[whole] = y
            case "set_mask":
                x[x > 0] = 0.75 if step.choice % 2 else y.sum()
            case "div_":
                x.div_(y.abs() + 0.5)
            case "pow_":
                x.tanh_().pow_(2)
            case "addcdiv_":
                x.addcdiv_(y, y.abs() + 0.5, value=-0.5)
            case "where_":
                x.copy_(self.lib.where(y > 0, x, y))
            case "set_column":
                x[:, whole] = y.mean()
            case "lerp_":
                x.lerp_(y, 0.25)
            case "addcmul_":
                x.addcmul_(y, y, value=0.5)
            case _:
                getattr(x, step.name)(y)

    def _autograd(self, step: Step, x: Any) -> None:
        match step.name:
            case "requires_grad_":
                self.values.append(x.detach().clone().requires_grad_())
            case _:
                x.sum().backward(retain_graph=bool(step.choice % 2))
