"""Functions that break graphs. A comment names the reason at each line that does: `# breaks: bool`."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable

import numpy as np

import engine
from engine import Tensor, inspect, nn
from engine.compiler import disable

GALLERY: list[Callable[[Tensor], object]] = []
"""Each takes a tensor of three numbers, 1 to 3."""


def shown(function: Callable[[Tensor], object]) -> Callable[[Tensor], object]:
    GALLERY.append(function)
    return function


# -- decisions


@shown
def a_branch_on_a_mean(x: Tensor) -> Tensor:
    y = x * 2
    if y.mean() > 0:  # breaks: bool
        y = y + 1
    else:
        y = y - 1
    return y * y


@shown
def a_conditional_expression(x: Tensor) -> Tensor:
    y = x.exp()
    return y.log() if y.sum() > 5 else y  # breaks: bool


@shown
def a_while_loop(x: Tensor) -> Tensor:
    y = x * 1
    while y.sum() < 50:  # breaks: bool
        y = y * 2
    return y


@shown
def an_assertion(x: Tensor) -> Tensor:
    y = x.sqrt()
    assert y.isfinite().all()  # breaks: bool
    return y + 1


@shown
def a_membership(x: Tensor) -> bool:
    return 4.0 in x * 2  # breaks: bool


@shown
def a_comparison_of_tensors(x: Tensor) -> Tensor:
    y = x + 1
    if engine.equal(y, x):  # breaks: bool
        return y
    return y * 2


@shown
def a_builtin_max(x: Tensor) -> Tensor:
    return max(x * 2) + 1  # breaks: bool


# -- numbers


@shown
def an_item_in_a_sum(x: Tensor) -> float:
    total = 0.0
    for scale in (1.0, 2.0, 3.0):
        loss = (x * scale).sum()
        total += loss.item()  # breaks: number
    return total


@shown
def a_float(x: Tensor) -> float:
    y = x.norm()
    return float(y)  # breaks: number


@shown
def an_index(x: Tensor) -> int:
    best = x.argmax()
    return ["small", "middle", "large"].index(["small", "middle", "large"][best])  # breaks: number


@shown
def a_function_of_math(x: Tensor) -> float:
    return math.sqrt((x * x).sum())  # breaks: number


@shown
def a_number_inside_a_gradient_step(x: Tensor) -> float:
    weight = nn.Parameter(engine.ones(3))
    loss = (weight * x).sum()
    loss.backward()
    norm = weight.grad.norm().item()  # breaks: number
    return norm * 2


@shown
def a_list(x: Tensor) -> list[float]:
    y = x.cumsum(0)
    return y.tolist()  # breaks: list


@shown
def iteration_over_elements(x: Tensor) -> float:
    total = 0.0
    for value in x * 2:
        total += float(value)  # breaks: iteration
    return total


# -- other libraries, and text


@shown
def an_array(x: Tensor) -> object:
    y = x * 2
    return y.numpy()  # breaks: array


@shown
def a_function_of_numpy(x: Tensor) -> object:
    return np.sin(x * 2)  # breaks: array


@shown
def a_function_of_numpy_that_calls_python(x: Tensor) -> object:
    return np.array_equal(x * 2, [2, 4, 6])  # breaks: array


@shown
def an_exchange_by_dlpack(x: Tensor) -> object:
    return np.from_dlpack(x * 2)  # breaks: array


@shown
def printing(x: Tensor) -> Tensor:
    y = x * 2
    text = f"now {y}"  # breaks: print
    return y + len(text)


@shown
def formatting_a_number(x: Tensor) -> str:
    loss = (x - 1).square().mean()
    return f"{loss:.3f}"  # breaks: print


@shown
def a_write_to_memory_shared_with_numpy(x: Tensor) -> Tensor:
    y = x * 2
    array = y.numpy()  # breaks: array
    y.add_(1)  # breaks: exposed
    return y + float(array[0])


# -- shapes that depend on numbers


@shown
def a_mask(x: Tensor) -> Tensor:
    y = x * 2
    return y[y > 3].sum()  # breaks: shape


@shown
def nonzero_indices(x: Tensor) -> Tensor:
    return (x - 1).nonzero() + 1  # breaks: shape


@shown
def unique_values(x: Tensor) -> Tensor:
    y = x.round()
    return y.unique() * 2  # breaks: shape


# -- calls that cannot be recorded


@shown
def a_copy_by_python(x: Tensor) -> Tensor:
    y = x * 2
    return copy.deepcopy(y) + 1  # breaks: opaque


@shown
def a_strided_view(x: Tensor) -> Tensor:
    y = x * 2
    return y.as_strided((2, 2), (1, 1)) + 1  # breaks: memory


@shown
def a_view_as_smaller_numbers(x: Tensor) -> Tensor:
    y = x * 2
    return y.view(engine.int16).float() + 1  # breaks: memory


@disable
def disabled_function(x: Tensor) -> Tensor:
    return x.sin()


@shown
def a_call_of_a_disabled_function(x: Tensor) -> Tensor:
    y = x * 2
    return disabled_function(y) + 1  # breaks: disabled


@shown
def an_explicit_break(x: Tensor) -> Tensor:
    y = x * 2
    engine.graph_break()  # breaks: explicit
    return y + 1


@shown
def observed_ops(x: Tensor) -> Tensor:
    y = x * 2
    with inspect.recording():
        z = y + 1  # breaks: observed
    return z * 2
