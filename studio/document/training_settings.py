"""The training settings as parameters: label, help, kind, bounds and choices, all derived from `TrainingSettings`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from msgspec.inspect import BoolType, FloatType, IntType, LiteralType, Metadata, NoneType, StructType, Type, UnionType
from msgspec.inspect import type_info as inspected

from engine.registry import Kind, Parameter, Range
from studio.document.model import TrainingSettings


@dataclass(frozen=True, slots=True)
class TrainingSetting:
    """One field of `Training`, declared for forms, the command line and the reference."""

    title: str
    """Label in forms."""
    parameter: Parameter

    @property
    def allowed(self) -> str:
        """The allowed values in words: "a whole number ≥ 1", "auto, cpu or cuda"."""
        parameter = self.parameter
        match parameter.kind:
            case "int":
                text = f"a whole number {parameter.range}"
            case "float":
                text = f"a number {parameter.range}"
            case "choice":
                *others, last = map(str, parameter.choices)
                text = f"{', '.join(others)} or {last}"
            case "bool":
                text = "true or false"
            case _:
                text = "text"
        return f"{text} or none" if parameter.optional else text


def _settings() -> Mapping[str, TrainingSetting]:
    info = inspected(TrainingSettings)
    assert isinstance(info, StructType)
    defaults = TrainingSettings()
    return {field.name: _setting(field.name, field.type, getattr(defaults, field.name)) for field in info.fields}


def _setting(name: str, declared: Type, default: object) -> TrainingSetting:
    assert isinstance(declared, Metadata), f"Training.{name} has no title and description"
    texts = cast("dict[str, str]", declared.extra_json_schema)  # pyright: ignore[reportUnknownMemberType]
    kinds = declared.type.types if isinstance(declared.type, UnionType) else (declared.type,)
    value_type = next(kind for kind in kinds if not isinstance(kind, NoneType))
    if isinstance(value_type, Metadata):
        value_type = value_type.type
    kind, bounds, choices = _described(value_type)
    optional = any(isinstance(kind, NoneType) for kind in kinds)
    parameter = Parameter(
        name, kind, default, optional=optional, range=bounds, choices=choices, help=texts["description"]
    )
    return TrainingSetting(texts["title"], parameter)


def _described(value_type: Type) -> tuple[Kind, Range | None, tuple[object, ...]]:
    match value_type:
        case IntType():
            return "int", Range(ge=value_type.ge, gt=value_type.gt, le=value_type.le, lt=value_type.lt), ()
        case FloatType():
            return "float", Range(ge=value_type.ge, gt=value_type.gt, le=value_type.le, lt=value_type.lt), ()
        case LiteralType():
            return "choice", None, tuple(value_type.values)
        case BoolType():
            return "bool", None, ()
        case _:
            return "str", None, ()


TRAINING_SETTINGS = _settings()
"""By field name, in the order of the project file."""
