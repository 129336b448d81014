"""Random programs over ops, views and in-place writes, and a machine that runs them in any library like PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

Operation = Callable[[Any, Any, Any, int], Any]
"""Gets the library, two tensors and a number that chooses among variants."""

INDICES: tuple[Any, ...] = (
    0, -1, slice(1, None), slice(None, -1), slice(None, None, 2), (slice(None), 0), (slice(None), slice(1, 3)),
    (Ellipsis, None), (Ellipsis, -1), (None, 0), (slice(1, 2), slice(None, None, 2)), slice(2, 1), Ellipsis,
)  # fmt: skip
SHAPES = ((6,), (2, 3), (3, 2), (-1, 1), (3, -1), (1, -1), (-1,), (4, 3), (2, 2, -1))
EXPANSIONS = ((3, -1), (2, -1, -1), (3, 4), (-1, 3), (2, 3, 4))

PLAIN = ("tanh", "sigmoid", "sin", "cos", "neg", "abs", "relu", "clone", "contiguous", "detach", "floor", "sign",
         "flatten", "squeeze", "sum", "mean", "prod", "amax")  # fmt: skip

COMPUTE: dict[str, Operation] = {name: lambda lib, x, y, n, name=name: getattr(x, name)() for name in PLAIN} | {
    "exp": lambda lib, x, y, n: x.tanh().exp(),
    "cube": lambda lib, x, y, n: x.sin() ** 3,
    "inverse": lambda lib, x, y, n: 1 / (x.abs() + 0.5),
    "root": lambda lib, x, y, n: (x * x + 0.1).sqrt(),
    "softplus": lambda lib, x, y, n: lib.nn.functional.softplus(x),
    "clamp": lambda lib, x, y, n: x.clamp(-0.5, 0.5),
    "float": lambda lib, x, y, n: (x.float() * 2).double(),
    "add": lambda lib, x, y, n: x + y,
    "sub": lambda lib, x, y, n: x.sub(y, alpha=2),
    "mul": lambda lib, x, y, n: x * y.tanh(),
    "div": lambda lib, x, y, n: x / (y.abs() + 0.5),
    "remainder": lambda lib, x, y, n: x % (y.abs() + 0.5),
    "maximum": lambda lib, x, y, n: x.maximum(y),
    "minimum": lambda lib, x, y, n: x.minimum(y),
    "matmul": lambda lib, x, y, n: x @ y,
    "lerp": lambda lib, x, y, n: x.lerp(y, 0.25),
    "addcdiv": lambda lib, x, y, n: x.addcdiv(y, y.abs() + 0.5, value=2),
    "compare": lambda lib, x, y, n: (x > y).double() * x,
    "where": lambda lib, x, y, n: lib.where(x > 0, x, y),
    "cat": lambda lib, x, y, n: lib.cat([x, y], dim=-(n % 2)),
    "stack": lambda lib, x, y, n: lib.stack([x, y], dim=-(n % 2)),
    "sum_one": lambda lib, x, y, n: x.sum(0),
    "mean_one": lambda lib, x, y, n: x.mean(-1, keepdim=True),
    "var": lambda lib, x, y, n: x.var(0),
    "std": lambda lib, x, y, n: (x.var(-1, correction=0) + 0.1).sqrt(),
    "prod_one": lambda lib, x, y, n: x.prod(-1),
    "amin": lambda lib, x, y, n: x.amin(-1, keepdim=True),
    "argmax": lambda lib, x, y, n: x.argmax(-1).double() + x.argmin().double(),
    "max": lambda lib, x, y, n: x.max(-1).values,
    "norm": lambda lib, x, y, n: (x * x).sum((0, -1)).add(0.1).sqrt(),
    "softmax": lambda lib, x, y, n: x.softmax(-1),
    "log_softmax": lambda lib, x, y, n: x.log_softmax(0),
    "logsumexp": lambda lib, x, y, n: x.logsumexp(0),
    "flip": lambda lib, x, y, n: x.flip(0),
    "take": lambda lib, x, y, n: x[_whole(lib, x, 0, n % 3, 0)] if n % 2 else x[..., _whole(lib, x, 0, n % 3, 0)],
    "mask": lambda lib, x, y, n: x[x > 0],
    "index_select": lambda lib, x, y, n: x.index_select(0, _whole(lib, x, 0, n % 3, 0)),
    "gather": lambda lib, x, y, n: x.gather(-1, (x > 0).long() % x.shape[-1]),
    "scatter_add": lambda lib, x, y, n: x.scatter_add(0, (y > 0).long() % len(x), y) if x.ndim == y.ndim else x.clone(),
    "cumsum": lambda lib, x, y, n: x.cumsum(-(n % 2)),
    "cumprod": lambda lib, x, y, n: x.tanh().cumprod(-1),
    "cummax": lambda lib, x, y, n: x.cummax(-1).values,
    "logcumsumexp": lambda lib, x, y, n: x.logcumsumexp(0),
    "sort": lambda lib, x, y, n: x.sort(-1, descending=bool(n % 2)).values,
    "topk": lambda lib, x, y, n: x.topk(2, dim=-1, largest=bool(n % 2)).values,
    "median": lambda lib, x, y, n: x.median(-1).values,
    "quantile": lambda lib, x, y, n: x.quantile(0.3, dim=-1, keepdim=bool(n % 2)),
    "roll": lambda lib, x, y, n: x.roll(n % 3, -1),
    "rot90": lambda lib, x, y, n: x.rot90(n % 4, (0, -1)),
    "tril": lambda lib, x, y, n: x.tril(n % 3 - 1),
    "diag_embed": lambda lib, x, y, n: x.diag_embed(n % 3 - 1),
    "repeat": lambda lib, x, y, n: x.repeat(2, *(1,) * x.ndim),
    "repeat_interleave": lambda lib, x, y, n: x.repeat_interleave(1 + n % 2, dim=-1) if x.ndim else x.clone(),
    "tile": lambda lib, x, y, n: x.tile((2,)),
    "outer": lambda lib, x, y, n: x.flatten()[:4].outer(y.flatten()[:3]),
    "kron": lambda lib, x, y, n: lib.kron(x[..., :2], y[..., :2]),
    "einsum": lambda lib, x, y, n: lib.einsum("...i,...j->...ij", x, y),
    "cdist": lambda lib, x, y, n: lib.cdist(x, y.detach() + 3),
    "vector_norm": lambda lib, x, y, n: (x + 2).norm(p=(1, 2, 3)[n % 3], dim=-1),
    "addmm": lambda lib, x, y, n: lib.addmm(y, x, x.mT, alpha=0.5),
    "masked_fill": lambda lib, x, y, n: x.masked_fill(x > y, 0.5),
    "index_add": lambda lib, x, y, n: x.index_add(0, _whole(lib, x, 0, 0), y[:2], alpha=2) if x.ndim else x.clone(),
    "index_fill": lambda lib, x, y, n: x.index_fill(-1, _whole(lib, x, n % 3), 0.25),
    "scatter": lambda lib, x, y, n: x.scatter(-1, _zeros(lib, x), 0.5),
    "take_flat": lambda lib, x, y, n: x.take(_whole(lib, x, 0, n % 5, -1)),
    "select_scatter": lambda lib, x, y, n: x.select_scatter(y[..., 0], -1, n % 3),
    "pad": lambda lib, x, y, n: lib.nn.functional.pad(x, (1, n % 3 - 1)),
    "normalized": lambda lib, x, y, n: lib.nn.functional.layer_norm(x, x.shape[-1:]),
    "gelu": lambda lib, x, y, n: lib.nn.functional.gelu(x, approximate=("none", "tanh")[n % 2]),
    "mse": lambda lib, x, y, n: lib.nn.functional.mse_loss(x, x.cos(), reduction=("mean", "none")[n % 2]),
    "cosine": lambda lib, x, y, n: lib.nn.functional.cosine_similarity(x + 2, y + 2, dim=-1),
    "clamp_by": lambda lib, x, y, n: x.clamp(min=y.detach() - 0.3),
    "atan2": lambda lib, x, y, n: lib.atan2(x, y.abs() + 0.5),
    "pow": lambda lib, x, y, n: (x.abs() + 0.5) ** y.tanh(),
    "fmod": lambda lib, x, y, n: x.fmod(0.7),
    "logaddexp": lambda lib, x, y, n: lib.logaddexp(x, y),
    "xlogy": lambda lib, x, y, n: lib.xlogy(x, y.abs() + 0.5),
    "std_mean": lambda lib, x, y, n: lib.std_mean(x + x.detach().flip(0) * 0.1, dim=0, correction=0)[1],
    "nan_to_num": lambda lib, x, y, n: x.nan_to_num(0.5),
    "isclose": lambda lib, x, y, n: x.isclose(y).double(),
    "count": lambda lib, x, y, n: (x > 0).sum(-1).double() + x.count_nonzero().double(),
    "new_leaf": lambda lib, x, y, n: x.detach().clone().requires_grad_(),
}

VIEW: dict[str, Operation] = {
    "transpose": lambda lib, x, y, n: x.transpose(0, -1),
    "permute": lambda lib, x, y, n: x.permute(*reversed(range(x.ndim))),
    "mT": lambda lib, x, y, n: x.mT,
    "unsqueeze": lambda lib, x, y, n: x.unsqueeze((0, -1, 1)[n % 3]),
    "squeeze_last": lambda lib, x, y, n: x.squeeze(-1),
    "unflatten": lambda lib, x, y, n: x.unflatten(-1, (2, -1)),
    "reshape": lambda lib, x, y, n: x.reshape(*SHAPES[n % len(SHAPES)]),
    "view": lambda lib, x, y, n: x.view(*SHAPES[n % len(SHAPES)]),
    "expand": lambda lib, x, y, n: x.expand(*EXPANSIONS[n % len(EXPANSIONS)]),
    "narrow": lambda lib, x, y, n: x.narrow(0, n % 2, 1),
    # Cloned, since PyTorch refuses writes to one of several views that one call made.
    "chunk": lambda lib, x, y, n: x.chunk(2, dim=-(n % 2))[-1].clone(),
    "split": lambda lib, x, y, n: x.split(2, dim=-(n % 2))[0].clone(),
    "unbind": lambda lib, x, y, n: x.unbind(-(n % 2))[0].clone(),
    "movedim": lambda lib, x, y, n: x.movedim(0, -1),
    "swapaxes": lambda lib, x, y, n: x.swapaxes(0, -1),
    "diagonal": lambda lib, x, y, n: x.diagonal(n % 3 - 1),
    "select": lambda lib, x, y, n: x.select(-1, n % 3),
    "unfold": lambda lib, x, y, n: x.unfold(-1, 2, 2),
    "view_as": lambda lib, x, y, n: x.view_as(y),
    "expand_as": lambda lib, x, y, n: x.expand_as(y),
    "broadcast": lambda lib, x, y, n: lib.broadcast_tensors(x, y)[0],
    "column": lambda lib, x, y, n: x[..., n % 2],
    "index": lambda lib, x, y, n: x[INDICES[n]],
    "index_of_index": lambda lib, x, y, n: x[INDICES[n]][..., 0],
}

WRITE: dict[str, Operation] = {
    name: lambda lib, x, y, n, name=name: getattr(x, name)()
    for name in ("tanh_", "sigmoid_", "neg_", "zero_", "relu_", "sin_")
} | {
    "add_number": lambda lib, x, y, n: x.__iadd__(0.5),
    "mul_number": lambda lib, x, y, n: x.mul_(-0.5),
    "sqrt_": lambda lib, x, y, n: x.abs_().add_(0.1).sqrt_(),
    "pow_": lambda lib, x, y, n: x.tanh_().pow_(2),
    "fill_": lambda lib, x, y, n: x.fill_(0.25),
    "add_": lambda lib, x, y, n: x.add_(y, alpha=0.5),
    "sub_": lambda lib, x, y, n: x.__isub__(y),
    "mul_": lambda lib, x, y, n: x.mul_(y.tanh()),
    "div_": lambda lib, x, y, n: x.div_(y.abs() + 0.5),
    "lerp_": lambda lib, x, y, n: x.lerp_(y, 0.25),
    "addcmul_": lambda lib, x, y, n: x.addcmul_(y, y, value=0.5),
    "addcdiv_": lambda lib, x, y, n: x.addcdiv_(y, y.abs() + 0.5, value=-0.5),
    "copy_": lambda lib, x, y, n: x.copy_(y),
    "copy_where": lambda lib, x, y, n: x.copy_(lib.where(y > 0, x, y)),
    "masked_fill_": lambda lib, x, y, n: x.masked_fill_(x > 0.5, -0.5),
    "masked_fill_by": lambda lib, x, y, n: x.masked_fill_(x > 0, y.mean()),
    "index_fill_": lambda lib, x, y, n: x.index_fill_(0, _whole(lib, x, n % 2), 0.25),
    "index_add_": lambda lib, x, y, n: x.index_add_(0, _whole(lib, x, 0), y[:1]) if x.ndim else x,
    "index_copy_": lambda lib, x, y, n: x.index_copy_(0, _whole(lib, x, 0), y[:1]) if x.ndim else x,
    "scatter_": lambda lib, x, y, n: x.scatter_(0, _zeros(lib, x), 0.5),
    "scatter_add_": lambda lib, x, y, n: x.scatter_add_(0, _zeros(lib, y), y),
    "index_put_": lambda lib, x, y, n: x.index_put_((_whole(lib, x, 0, 0),), y.mean(), accumulate=bool(n % 2)),
    "cumsum_": lambda lib, x, y, n: x.cumsum_(-1),
    "tril_": lambda lib, x, y, n: x.tril_(n % 3 - 1),
    "clamp_": lambda lib, x, y, n: x.clamp_(-0.5, 0.75),
    "where_": lambda lib, x, y, n: x.copy_(x.where(x > 0, y)),
    "round_": lambda lib, x, y, n: x.round_(),
    "exp_": lambda lib, x, y, n: x.tanh_().exp_(),
    "reciprocal_": lambda lib, x, y, n: x.abs_().add_(0.5).reciprocal_(),
    "unsqueeze_": lambda lib, x, y, n: x.unsqueeze_(0).squeeze_(0),
    "transpose_": lambda lib, x, y, n: x.transpose_(0, -1),
    "fill_diagonal_": lambda lib, x, y, n: x.fill_diagonal_(0.5),
    "setitem": lambda lib, x, y, n: x.__setitem__(INDICES[n], y),
    "set_number": lambda lib, x, y, n: x.__setitem__(INDICES[n], 0.5),
    "set_taken": lambda lib, x, y, n: x.__setitem__(_whole(lib, x, 0, -1), y),
    "set_columns": lambda lib, x, y, n: x.__setitem__((slice(None), _whole(lib, x, 0, -1)), y.mean()),
    "set_mask": lambda lib, x, y, n: x.__setitem__(x > 0, 0.75 if n % 2 else y.sum()),
}  # fmt: skip

BACKWARD = "backward"


def _whole(lib: Any, like: Any, *numbers: int) -> Any:
    return lib.tensor(numbers, device=like.device)


def _zeros(lib: Any, like: Any) -> Any:
    return lib.zeros(tuple(like.shape), dtype=lib.int64, device=like.device)


@dataclass(frozen=True)
class Step:
    """One operation on the values so far; `left` and `right` are indices modulo their number."""

    name: str
    left: int
    right: int = 0
    choice: int = 0
    recorded: bool = True
    """False: under no_grad."""


def steps() -> st.SearchStrategy[Step]:
    """Views and writes are as frequent as all other ops, because they cause most errors."""
    name = st.one_of(st.sampled_from([*COMPUTE, BACKWARD]), st.sampled_from(list(VIEW)), st.sampled_from(list(WRITE)))
    number = st.integers(0, 11)
    return st.builds(Step, name, number, number, st.integers(0, len(INDICES) - 1), st.integers(0, 6).map(bool))


class Machine:
    """Runs steps in the library `lib`; `values` are five given tensors, then the results."""

    def __init__(self, lib: Any, device: str = "cpu") -> None:
        self.lib = lib
        random = np.random.default_rng(0)
        samples = [random.normal(size=shape).round(3) for shape in ((3, 4), (4,), (3, 1), (3, 4), (2, 3, 4))]
        self.values = [lib.tensor(array.tolist(), dtype=lib.float64, device=device) for array in samples]
        for leaf in self.values[:3]:
            leaf.requires_grad_()

    def run(self, step: Step) -> None:
        # What a view made under no_grad is differs on purpose; test_views_and_in_place.py says how.
        if step.recorded or step.name in VIEW or step.name in ("flatten", "squeeze", "contiguous", "repeat_interleave"):
            self._run(step)
        else:
            with self.lib.no_grad():
                self._run(step)

    def _run(self, step: Step) -> None:
        x, y = self.values[step.left % len(self.values)], self.values[step.right % len(self.values)]
        if step.name == BACKWARD:
            x.sum().backward(retain_graph=bool(step.choice % 2))
        elif step.name in WRITE:
            # Cloned, since what comes of views that overlap in no regular way is chance in PyTorch.
            WRITE[step.name](self.lib, x, y.clone(), step.choice)
        else:
            self.values.append((COMPUTE | VIEW)[step.name](self.lib, x, y, step.choice))
