"""Results with names: the types, fields and printing of PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest

import engine
from engine.ops import return_types

torch: Any = pytest.importorskip("torch")

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "histogram": (3,), "histogramdd": ([2, 3, 2],), "kthvalue": (2,), "topk": (2,),
}  # fmt: skip
OF_DIMENSION = {"cummax", "cummin", "max", "median", "min", "mode", "nanmedian"}
OF_TWO = {"linalg_lstsq", "linalg_solve_ex", "triangular_solve"}
NUMBERS = [[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]]


def call(library: Any, name: str) -> Any:
    place, _, last = name.rpartition("linalg_")
    matrix = library.tensor(NUMBERS)
    more = (matrix,) if name in OF_TWO else (1,) if name in OF_DIMENSION else ARGUMENTS.get(name, ())
    if name == "lu_unpack":
        return library.lu_unpack(*library.linalg.lu_factor(matrix))
    return getattr(library.linalg if place or name.startswith("linalg_") else library, last)(matrix, *more)


def shapes(part: Any) -> list[tuple[int, ...]]:
    """Of a tensor, or of several."""
    return [tuple(tensor.shape) for tensor in (part if isinstance(part, tuple) else (part,))]


def labels(result: Any) -> list[str]:
    """Lines of its printed form that are not numbers."""
    lines = repr(result).splitlines()
    return [line.partition("tensor(")[0] for line in lines if line and not line.startswith(" ")]


@pytest.mark.parametrize("name", sorted(return_types.FIELDS))
@pytest.mark.filterwarnings("ignore:torch.*is deprecated:UserWarning")
def test_return_types_match_pytorch(name: str) -> None:
    ours, theirs = call(engine, name), call(torch, name)
    assert type(ours) is getattr(return_types, name)
    assert type(theirs) is getattr(torch.return_types, name)
    assert type(ours).__name__ == type(theirs).__name__
    for field, part in zip(return_types.FIELDS[name], theirs, strict=True):
        assert getattr(theirs, field) is part
        assert shapes(getattr(ours, field)) == shapes(part)
    assert labels(ours) == [line.replace("torch", "engine") for line in labels(theirs)]


def test_parts() -> None:
    values, indices = result = engine.tensor(NUMBERS).max(0)
    assert result[0] is values is result.values
    assert result[1] is indices is result.indices
    assert return_types.max((values, indices)) == (values, indices)
    assert repr(return_types.max((1, 2))) == "engine.return_types.max(\nvalues=1,\nindices=2)"


def test_results_written_to_out_have_names() -> None:
    values, indices = engine.empty(0), engine.empty(0, dtype=engine.int64)
    result = engine.max(engine.tensor(NUMBERS), dim=1, out=(values, indices))
    assert result.values is values
    assert result.indices is indices
    assert values.tolist() == [4, 3, 2]


def test_out_may_be_a_parameter_without_recording() -> None:
    parameter = engine.nn.Parameter(engine.ones(2))
    with engine.no_grad():
        engine.add(parameter, 1, out=parameter)
    assert parameter.tolist() == [2, 2]


def test_copies_in_another_order_of_memory() -> None:
    for library in (engine, torch):
        image = library.ones(1, 2, 3, 4)
        assert image.clone(memory_format=library.channels_last).stride() == (24, 1, 8, 2)
        assert image.clone(memory_format=library.preserve_format).stride() == (24, 12, 4, 1)
