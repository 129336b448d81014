"""The op record: the declaration of an operation.

    @op("elementwise")
    def sigmoid(xp, x):
        \"\"\"Logistic sigmoid, elementwise.\"\"\"
        return 1 / (1 + xp.exp(-x))

    @sigmoid.gradient
    def _(g, out):
        return g * out * (1 - out)

A kernel's unannotated arguments are tensors (or numbers), annotated ones are static. A gradient asks by name for
what it needs: `g`, inputs, static arguments, the result as `out` (`out0`, `out1` where there are several). Only that is
kept for the backward pass; an input annotated `Spec` keeps shape and dtype alone. Tensor methods, in-place variants,
checks and tests are derived from the record.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engine.dtypes import NATIVE_FLOATS, NATIVE_WHOLE, optional
from engine.errors import RegistryError
from engine.ops.argument_names import argument_aliases_of, for_users
from engine.ops.out_argument import with_out
from engine.ops.static_arguments import freeze_statics
from engine.shape import Shape, Spec

Kind = Literal["elementwise", "reduce", "movement", "other"]

AUGMENTED = frozenset(
    ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
)
"""Operators that have an augmented assignment, such as `+=`."""


def is_reflected(operator: str) -> bool:
    """Whether a method name is that of an operator with its operands exchanged, such as `__radd__`."""
    return operator.startswith("__r") and operator != "__rshift__"


REGISTRY: dict[str, Op] = {}


@dataclass(slots=True)
class Executor:
    """Op runner, set by `engine.tensors.dispatch`."""

    run: Callable[[Op, Sequence[Any], dict[str, Any]], Any]


def _no_executor(op: Op, inputs: Sequence[Any], statics: dict[str, Any]) -> Any:
    raise RuntimeError("import engine before calling an op")


EXECUTOR = Executor(_no_executor)


ArgumentSource = Literal["input", "spec", "static", "out"]


@dataclass(frozen=True, slots=True)
class GradientRule:
    """A gradient function for the inputs at `covers`, and what its arguments after the gradient are, in order."""

    function: Callable[..., Any]
    covers: tuple[int, ...]
    arguments: tuple[tuple[ArgumentSource, Any], ...]
    """("input", index) for a tensor to keep, ("spec", index) where shape and dtype of an input are enough,
    ("static", name), ("out", index) for a result to keep."""

    def indices(self, kind: ArgumentSource) -> list[int]:
        return [key for asked, key in self.arguments if asked == kind]


@dataclass(frozen=True, slots=True)
class BackwardPlan:
    """Which rules run when these inputs want gradients, and what they need kept."""

    rules: tuple[GradientRule, ...]
    saves: tuple[int, ...]
    outs: tuple[int, ...]


class Op:
    """One operation. Call it with tensors and static arguments."""

    def __init__(
        self,
        kernel: Callable[..., Any],
        kind: Kind,
        *,
        floats: bool = False,
        result: Literal["bool", "same"] = "same",
        view: bool = False,
        varargs: str | None = None,
        method: bool = True,
        public: bool | None = None,
        operators: tuple[str, ...] = (),
        outputs: int = 1,
        random: bool = False,
        masks: tuple[str, ...] = (),
        keeps_from: int = 0,
        promotes: bool = False,
        numbers: bool = False,
        sample: Callable[..., Any] | None = None,
        domain: tuple[float, float] | None = None,
        aliases: tuple[str, ...] = (),
        in_place: bool | None = None,
        commutes: bool = False,
    ) -> None:
        self.kernel = kernel
        self.name = op_name(kernel)
        self.kind = kind
        self.floats = floats
        """Integers are converted to the default float before the kernel runs."""
        self.numbers = numbers
        """Booleans raise DTypeError."""
        self.result = result
        self.view = view
        """The output may share memory with the first input."""
        self.varargs = varargs
        """The static argument that takes what is left of the positional ones: `x.permute(2, 0, 1)`."""
        self.method = method
        self.public = method if public is None else public
        """Exported as `engine.NAME`."""
        self.operators = operators
        self.commutes = commutes
        """`2 * x` is recorded as `x * 2`, as in PyTorch's graph."""
        self.outputs = outputs
        self.makes_one = outputs == 1 and not view
        """A call returns one tensor in new memory."""
        self.random = random
        self.keeps_from = keeps_from
        """A gradient of variadic inputs needs only the shapes and dtypes of those before this one."""
        self.sample = sample
        """For tests: takes a `Sampler`, returns a list of (args, kwargs)."""
        self.domain = domain
        self.in_place = kind == "elementwise" if in_place is None else in_place
        """There is a method `NAME_` that writes the result into the tensor, or makes the tensor the view."""
        self.aliases = aliases
        """Aliases, also for the method and its in-place form."""
        self.takes_numbers = kind == "elementwise"
        self.promotes = promotes or kind == "elementwise" or floats
        self.rules: list[GradientRule] = []
        self.plans: dict[int, BackwardPlan] = {}
        """What `plan` found: by the bits of `wanted`, with the bit after the last input set as well."""
        self.keyword_overloads: dict[str, Callable[..., Any]] = {}
        """Keywords with which a call is another function's."""
        self._shape_rule: Callable[..., Any] | None = None
        self._macs_rule: Callable[..., Any] | None = None
        self._read_signature()
        self.operands = self.arity if self.makes_one and not self.variadic and self.arity <= 2 else 0
        """Number of inputs (1 or 2) if a call has the simplest form: only inputs, one new tensor; else 0."""
        self.native = NATIVE_FLOATS if floats else NATIVE_FLOATS | NATIVE_WHOLE
        """Array dtypes that the kernel takes as they are where all inputs have one of them."""
        self.masks = frozenset(self.inputs.index(name) for name in masks)
        """Inputs that keep out of dtype promotion."""
        self.function = _public_function(self)
        if self.public or method:
            reserve_names(self.name, aliases)
        if self.name in REGISTRY:
            raise RegistryError(f"op {self.name} is declared twice. Rename one of the two.")
        REGISTRY[self.name] = self

    # -- declaration

    def gradient(self, *names: Any) -> Any:
        """Declares the gradient: bare for all inputs together, or `gradient("x")` for the inputs named."""
        if len(names) == 1 and callable(names[0]):
            return self._add_rule(names[0], tuple(range(len(self.inputs))))
        covers = tuple(self.inputs.index(name) for name in names)
        return lambda function: self._add_rule(function, covers)

    def shape(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Declares the shape rule: from the inputs as Specs and the statics to a shape, a Spec, or a tuple of Specs."""
        self._shape_rule = function
        return function

    def macs(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Declares the number of multiply-adds: gets the output Spec, the input Specs, and the statics."""
        self._macs_rule = function
        return function

    def keyword(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Declares what a call with a further keyword does, the function's last argument, instead of the kernel."""
        self.keyword_overloads[list(inspect.signature(function).parameters)[-1]] = for_users(function)
        return function

    # -- use

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def _several(self, tensors: Any) -> tuple[Any, ...]:
        if hasattr(tensors, "dtype"):
            raise TypeError(f"{self.name}(): the tensors must be in a list or a tuple. Use {self.name}([a, b]).")
        return tuple(tensors)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        """Splits a call into inputs and static arguments, defaults filled in."""
        arity, names = self.arity, self.static_names
        if len(args) == arity and not self.variadic and self._known_statics.issuperset(kwargs):
            statics = {**self.defaults, **kwargs} if kwargs else self.defaults
            if len(statics) == len(names):
                return args, statics
        elif self.plain and names and not kwargs and len(args) == arity + 1 and self.varargs is None:
            return args[:arity], {**self.defaults, names[0]: args[arity]}
        elif self._takes_one and not kwargs and len(args) > arity:
            value = args[arity]
            if self.varargs is not None and not isinstance(value, (tuple, list)) and value is not None:
                return args[:arity], {names[0]: args[arity:]}
            if len(args) == arity + 1:
                return args[:arity], {names[0]: value}
        if self.variadic:
            inputs: Sequence[Any] = self._several(args[0] if args else kwargs.pop(self.inputs[0]))
            rest = args[1:]
        else:
            inputs, rest = args[:arity], args[arity:]
            if len(inputs) < arity:
                inputs = (*inputs, *[self._keyword(name, kwargs) for name in self.inputs[len(inputs) :]])
        if not rest and not kwargs and len(self.defaults) == len(names):
            return inputs, self.defaults
        index = self._varargs_index
        if len(rest) > index and not isinstance(rest[index], (tuple, list)) and rest[index] is not None:
            rest = (*rest[:index], tuple(rest[index:]))
        if len(rest) > len(names):
            raise TypeError(f"{self.name}() takes at most {arity + len(names)} arguments")
        statics = dict(zip(names, rest))  # noqa: B905 - the rest have defaults
        if kwargs or len(rest) < len(names):
            statics = {**self.defaults, **statics, **kwargs}
        if len(statics) != len(names) or not self._known_statics.issuperset(kwargs):
            statics = self._checked(statics)
        return inputs, statics

    def _checked(self, statics: dict[str, Any]) -> dict[str, Any]:
        """The static arguments by the op's own names. Raises TypeError for one that it has not, or lacks."""
        for name in [name for name in statics if name in self.further]:
            statics[self.further[name]] = statics.pop(name)
        for name in statics:
            if name not in self._known_statics:
                raise TypeError(
                    f"{self.name}() has no argument {name!r}; it has {', '.join((*self.inputs, *self.static_names))}"
                )
        missing = [name for name in self.static_names if name not in statics]
        if missing:
            raise TypeError(f"{self.name}() is missing the argument {missing[0]!r}")
        return statics

    def infer(self, specs: Sequence[Any], statics: dict[str, Any]) -> Any:
        """What `shape` declared, for Specs (numbers and None pass through). Dtypes are already promoted."""
        if self._shape_rule is None:
            raise NotImplementedError(f"op {self.name} has no shape rule")
        return self._shape_rule(*specs, **statics)

    @property
    def has_shape_rule(self) -> bool:
        return self._shape_rule is not None

    def count_macs(self, out: Any, specs: Sequence[Any], statics: dict[str, Any]) -> Any:
        return 0 if self._macs_rule is None else self._macs_rule(out, *specs, **statics)

    def plan(self, wanted: int, count: int) -> BackwardPlan:
        """What a node keeps and runs when those of its `count` inputs need gradients whose bit is set in `wanted`."""
        found = self.plans.get(key := wanted | 1 << count)
        if found is None:
            found = self.plans[key] = self._planned(wanted, count)
        return found

    def _planned(self, wanted: int, count: int) -> BackwardPlan:
        if self.variadic:
            rules = tuple(self.rules) if wanted else ()
        else:
            rules = tuple(rule for rule in self.rules if any(wanted >> i & 1 for i in rule.covers))
        if self.variadic and any(rule.indices("input") for rule in rules):
            saves = tuple(range(self.keeps_from, count))
        else:
            saves = tuple(sorted({index for rule in rules for index in rule.indices("input")}))
        return BackwardPlan(rules, saves, tuple(sorted({index for rule in rules for index in rule.indices("out")})))

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    # -- inside

    def _read_signature(self) -> None:
        arguments = list(inspect.signature(self.kernel).parameters.values())[1:]
        self.takes_out = self.result != "bool" and any(argument.name == "out" for argument in arguments)
        arguments = [argument for argument in arguments if argument.name != "out"]
        tensors = [argument for argument in arguments if argument.annotation is inspect.Parameter.empty]
        statics = [argument for argument in arguments if argument.annotation is not inspect.Parameter.empty]
        self.variadic = any(argument.kind is inspect.Parameter.VAR_POSITIONAL for argument in tensors)
        self.inputs = tuple(argument.name for argument in tensors)
        if self.takes_out and list(inspect.signature(self.kernel).parameters)[1 + len(tensors)] != "out":
            raise RegistryError(f"the kernel of {self.name} must take out= right after its inputs")
        self._input_defaults = {a.name: a.default for a in tensors if a.default is not inspect.Parameter.empty}
        self.static_names = tuple(argument.name for argument in statics)
        self.optional = bool(self._input_defaults)
        """An input may be None."""
        self._takes_one = len(statics) == 1 and not self.variadic
        self._varargs_index = len(statics) if self.varargs is None else self.static_names.index(self.varargs)
        self._known_statics = frozenset(self.static_names)
        self.defaults = {a.name: a.default for a in statics if a.default is not inspect.Parameter.empty}
        self.takes_dtype = any(a.name == "dtype" and "DType" in str(a.annotation) for a in statics)
        """A static argument is a dtype, which calls are checked for."""
        self.arity = len(self.inputs)
        self.further = argument_aliases_of((*self.inputs, *self.static_names))
        """Further names of arguments."""
        self.plain = len(self.defaults) == len(statics) and not self.variadic
        """A call may consist of the inputs alone."""
        self.signature = inspect.Signature(
            [a.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for a in (*tensors, *statics)]
            if not self.variadic
            else None
        )

    def _keyword(self, name: str, kwargs: dict[str, Any]) -> Any:
        for given in (name, *[other for other, own in self.further.items() if own == name]):
            if given in kwargs:
                return kwargs.pop(given)
        if name in self._input_defaults:
            return self._input_defaults[name]
        raise TypeError(f"{self.name}() is missing the argument {name!r}")

    def _add_rule(self, function: Callable[..., Any], covers: tuple[int, ...]) -> Callable[..., Any]:
        results = {"out": 0} if self.outputs == 1 else {f"out{index}": index for index in range(self.outputs)}
        arguments: list[tuple[ArgumentSource, Any]] = []
        for argument in list(inspect.signature(function).parameters.values())[1:]:
            if argument.name in self.inputs:
                kept = argument.annotation not in (Spec, "Spec")
                arguments.append(("input" if kept else "spec", self.inputs.index(argument.name)))
            elif argument.name in self._known_statics:
                arguments.append(("static", argument.name))
            elif argument.name in results:
                arguments.append(("out", results[argument.name]))
            else:
                raise RegistryError(
                    f"the gradient of {self.name} asks for {argument.name!r}, which the op does not have"
                )
        self.rules.append(GradientRule(function, covers, tuple(arguments)))
        return function


def _public_function(op: Op) -> Callable[..., Any]:
    executor, arity, plain, bind, defaults = EXECUTOR, op.arity, op.plain, op.bind, op.defaults
    has_statics = frozenset(op.static_names).issuperset
    takes_dtype = op.takes_dtype

    def function(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            if takes_dtype and "dtype" in kwargs:
                kwargs["dtype"] = optional(op.name, kwargs["dtype"])
            if plain and len(args) == arity and has_statics(kwargs):
                return executor.run(op, args, {**defaults, **freeze_statics(kwargs)})
            if ("out" in kwargs or op.keyword_overloads) and (found := find_overload(op, kwargs)):
                return found(*args, **kwargs)
        elif plain and len(args) == arity:
            return executor.run(op, args, defaults)
        inputs, statics = bind(args, kwargs)
        if takes_dtype:
            statics = {**statics, "dtype": optional(op.name, statics["dtype"])}
        return executor.run(op, inputs, statics if statics is defaults else freeze_statics(statics))

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = op.kernel.__doc__
    function.__module__ = op.kernel.__module__
    function.__signature__ = op.signature  # pyright: ignore[reportFunctionMemberAccess]
    function.further = op.further  # pyright: ignore[reportFunctionMemberAccess]
    return function


def find_overload(op: Op, kwargs: dict[str, Any]) -> Callable[..., Any] | None:
    """The function that a call with these keywords is meant for, if it is not the op itself."""
    if "out" in kwargs:
        return with_out(op.function)
    return (
        next((op.keyword_overloads[name] for name in kwargs if name in op.keyword_overloads), None)
        if op.keyword_overloads
        else None
    )


def op(kind: Kind = "elementwise", **options: Any) -> Callable[[Callable[..., Any]], Op]:
    """Declares an op; see `Op` for the options."""
    return lambda kernel: Op(kernel, kind, **options)


def op_name(kernel: Callable[..., Any]) -> str:
    """The name of the op that a kernel computes.

    A trailing underscore keeps Python's own name free (`sum_`). A trailing `_op` keeps the name of the public function
    free that is written around the op: `topk_op` is the op `topk`, which the composite `topk` calls.
    """
    return kernel.__name__.rstrip("_").removesuffix("_op")


def reserve_names(name: str, aliases: tuple[str, ...]) -> None:
    """Reserves the public names of an op or a composite. Raises RegistryError for one that is taken."""
    for one in (name, *aliases):
        if one in _taken:
            raise RegistryError(f"op {one} is declared twice. Rename one of the two.")
        _taken.add(one)


_taken: set[str] = set()


def operators() -> Iterator[Op]:
    """All ops, in order of declaration."""
    yield from REGISTRY.values()


__all__ = [
    "AUGMENTED",
    "EXECUTOR",
    "REGISTRY",
    "GradientRule",
    "Kind",
    "Op",
    "Shape",
    "Spec",
    "reserve_names",
    "is_reflected",
    "op",
    "op_name",
    "operators",
    "find_overload",
]
