"""Declarations: from a signature to the schema that forms and files are made of; duplicates and old names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest

from engine.errors import RegistryError
from engine.registry import (
    DATASETS,
    LAYERS,
    LOSSES,
    METRICS,
    OPTIMIZERS,
    SCHEDULERS,
    TRANSFORMS,
    Count,
    FromInput,
    NonNegative,
    Parameter,
    PathTo,
    Positive,
    Probability,
    Range,
    Registry,
    RegistryEntry,
    Seed,
    Size,
    argument_help,
    parameters,
)
from engine.tensors import Tensor

REGISTRIES = (LAYERS, LOSSES, OPTIMIZERS, SCHEDULERS, TRANSFORMS, DATASETS, METRICS)
ENTRIES = [entry for registry in REGISTRIES for entry in registry]


class Sample:
    """First line.

    More about it.

    Args:
        features: size of the last
            dimension
        rate: how fast
        text: a name
        unknown_type: not shown

    Returns:
        nothing: that is an argument
    """

    def __init__(
        self,
        features: Annotated[Size, FromInput(-1)],
        rate: Probability = 0.5,
        *,
        bias: bool = True,
        text: str = "name",
        mode: Literal["mean", "sum"] = "mean",
        level: Literal[1, 2] | None = None,
        size: Size | tuple[Size, Size] = 3,
        padding: Count | tuple[Count, Count] | Literal["same", "valid"] = 0,
        sizes: tuple[Size, ...] = (1,),
        seed: Seed = 0,
        betas: tuple[float, float] = (0.9, 0.999),
        momentum: NonNegative | None = None,
        decay: float | int = 0,
        offset: int = -1,
        path: Annotated[str, PathTo("file", (".csv",))] = "",
        count: Count = 0,
        tensor: Tensor | None = None,
        function: Callable[..., Any] | None = None,
    ) -> None: ...


SCHEMA = {parameter.name: parameter for parameter in parameters(Sample)}


@pytest.mark.parametrize(
    ("name", "kind", "optional", "required"),
    [
        ("features", "int", False, True),
        ("rate", "float", False, False),
        ("bias", "bool", False, False),
        ("text", "str", False, False),
        ("mode", "choice", False, False),
        ("level", "choice", True, False),
        ("size", "ints", False, False),
        ("padding", "ints", False, False),
        ("betas", "floats", False, False),
        ("momentum", "float", True, False),
        ("decay", "float", False, False),
        ("offset", "int", False, False),
        ("path", "path", False, False),
        ("count", "int", False, False),
    ],
)
def test_kinds(name: str, kind: str, optional: bool, required: bool) -> None:
    result = SCHEMA[name]
    assert (result.kind, result.optional, result.required) == (kind, optional, required)


def test_arguments_that_no_form_can_show_are_left_out() -> None:
    assert "tensor" not in SCHEMA
    assert "function" not in SCHEMA
    assert "self" not in SCHEMA


def test_annotations_and_help_are_carried_along() -> None:
    features = SCHEMA["features"]
    assert (features.from_input, features.range) == (FromInput(-1), Range(ge=1))
    assert features.help == "size of the last dimension"
    assert (SCHEMA["size"].range, SCHEMA["path"].path) == (Range(ge=1), PathTo("file", (".csv",)))
    assert (SCHEMA["mode"].choices, SCHEMA["level"].choices) == (("mean", "sum"), (1, 2))
    assert (SCHEMA["padding"].choices, SCHEMA["padding"].range) == (("same", "valid"), Range(ge=0))
    assert (SCHEMA["betas"].default, SCHEMA["rate"].help, SCHEMA["offset"].help) == ((0.9, 0.999), "how fast", "")
    assert argument_help(Sample)["unknown_type"] == "not shown"
    assert "nothing" not in argument_help(Sample)


def test_help_of_arguments_is_inherited() -> None:
    class Part(Sample):
        """A sample.

        Args:
            rate: how slow
        """

    class Rest(Part):
        pass

    assert argument_help(Rest) == argument_help(Part) == argument_help(Sample) | {"rate": "how slow"}


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("features", 1, None),
        ("features", 0, "must be ≥ 1, not 0"),
        ("features", 1.5, "must be a whole number, not 1.5"),
        ("features", True, "must be a whole number, not True"),
        ("features", None, "must be a whole number, not empty"),
        ("rate", 1, None),
        ("rate", 1.01, "must be ≥ 0 and ≤ 1, not 1.01"),
        ("rate", float("nan"), "must be a finite number, not nan"),
        ("rate", float("inf"), "must be a finite number, not inf"),
        ("rate", "0.5", "must be a number, not '0.5'"),
        ("bias", 1, "must be true or false, not 1"),
        ("mode", "max", "must be one of 'mean', 'sum', not 'max'"),
        ("level", None, None),
        ("size", 3, None),
        ("size", (3, 0), "must be ≥ 1, not 0"),
        ("size", (3, 3, 3), "must be one or 2 whole numbers, not 3"),
        ("size", (), "must be one or 2 whole numbers, not 0"),
        ("sizes", (3, 3, 3), None),
        ("padding", "same", None),
        ("padding", (1, 2), None),
        ("padding", -1, "must be ≥ 0, not -1"),
        ("padding", "full", "must be whole numbers or 'same' or 'valid', not 'full'"),
        ("sizes", (), "must be one or more whole numbers, not 0"),
        ("sizes", 3, "must be one or more whole numbers, not 1"),
        ("betas", (0.9,), "must be 2 numbers, not 1"),
        ("betas", 0.9, "must be 2 numbers, not 1"),
        ("betas", (0.9, 0.9, 0.9), "must be 2 numbers, not 3"),
        ("betas", (0.9, 10**400), "must be a finite number, not 100000000000000000...0000000000000000000"),
        ("features", 2**31 - 1, None),
        ("features", 2**62, "must be ≥ 1 and ≤ 2,147,483,647, not 4611686018427387904"),
        ("seed", 2**62, None),
        ("seed", 2**63, "must be ≥ 0 and ≤ 9,223,372,036,854,775,807, not 9223372036854775808"),
        ("level", True, "must be one of 1, 2, not True"),
        ("path", "a\0b", "must be a path without null characters"),
        ("path", "a/" * 2049, "must be a path of at most 4,096 characters, not 4,098"),
        ("path", "a/" + "b" * 256, "must name files with at most 255 characters each, not 256"),
        ("size", [2, "a"], "must be whole numbers, not 'a'"),
        ("momentum", None, None),
        ("momentum", -0.1, "must be ≥ 0, not -0.1"),
        ("text", 3, "must be text, not 3"),
        ("path", 3, "must be a path, not 3"),
    ],
)
def test_problems_of_values(name: str, value: Any, problem: str | None) -> None:
    assert SCHEMA[name].problem(value) == problem


def test_bounds() -> None:
    assert Range(gt=0, lt=1).allows(0.5)
    assert not Range(gt=0).allows(0)
    assert not Range(lt=1).allows(1)
    assert (str(Range(ge=0, lt=1)), str(Range(gt=0.5)), str(Range())) == ("≥ 0 and < 1", "> 0.5", "")
    assert parameters(lambda rate: None) == ()

    def positive(rate: Positive) -> None: ...

    assert parameters(positive)[0].problem(0) == "must be > 0, not 0"


# -- the registry itself ----------------------------------------------------------------------


def _registry() -> tuple[Registry, type]:
    registry = Registry("test")

    @registry.register(category="Things", was=("test.Old",), tags=("word",), outputs=("a", "b"))
    class Thing:
        """What it is."""

    return registry, Thing


def test_an_entry_is_found_by_its_key_and_its_old_keys() -> None:
    registry, thing = _registry()
    assert registry["test.Thing"] is registry["test.Old"]
    assert registry["test.Thing"] == RegistryEntry(
        "test.Thing", thing, "Things", "Thing", ("test.Old",), ("a", "b"), ("word",)
    )
    assert registry["test.Thing"].summary == "What it is."
    assert ("test.Old" in registry, "test.New" in registry, len(registry)) == (True, False, 1)
    assert [entry.key for entry in registry] == ["test.Thing"]
    with pytest.raises(RegistryError, match=r"No class is registered as 'test\.New'. Registered: test\.Thing\."):
        registry["test.New"]


def test_duplicates_are_refused_without_changing_the_registry() -> None:
    registry, thing = _registry()
    with pytest.raises(RegistryError, match=r"test\.Thing is declared twice\. Rename one"):
        registry.register(category="Things")(thing)
    for was in ("test.Thing", "test.Old"):
        with pytest.raises(RegistryError, match="declared twice"):
            registry.register(category="Things", was=(was,))(type("Other", (), {}))
    with pytest.raises(RegistryError, match=r"test\.Old is declared twice"):
        registry.register(category="Things")(type("Old", (), {}))
    assert [entry.key for entry in registry] == ["test.Thing"]


# -- what is declared -------------------------------------------------------------------------


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.key)
def test_every_declaration_can_be_shown(entry: RegistryEntry) -> None:
    assert entry.summary.endswith("."), "the first line of the docstring is a sentence"
    assert entry.category
    assert entry.title
    for parameter in entry.parameters:
        assert parameter.help, f"{parameter.name} has no line in Args"
        if not parameter.required and parameter.default is not None:
            assert parameter.problem(parameter.default) is None, parameter
        assert isinstance(parameter, Parameter)


def test_keys_are_unique_in_the_product() -> None:
    keys = [key for entry in ENTRIES for key in (entry.key, *entry.was)]
    assert len(set(keys)) == len(keys)
