"""The op record: the declaration of an operation.

    @op("elementwise")
    def sigmoid(xp, x):
        \"\"\"Logistic sigmoid, elementwise.\"\"\"
        return 1 / (1 + xp.exp(-x))

    @sigmoid.gradient
    def _(g, out):
        return g * out * (1 - out)

Unannotated arguments of a kernel are tensors (or numbers), annotated ones are static. A gradient function names its
arguments after what it needs: inputs, static arguments, the result as `out` (`out0`, `out1`, … if there are several).
Only these are saved for the backward pass; of an input annotated `Spec` only shape and dtype. Tensor methods, in-place
variants, checks and tests are derived from the record.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from engine.dtypes import NATIVE_FLOATS, NATIVE_INTEGERS, as_optional_dtype
from engine.errors import RegistryError
from engine.ops.argument_names import argument_aliases_of, as_public_function
from engine.ops.gradient_rules import ArgumentSource, BackwardPlan, GradientRule
from engine.ops.op_executor import OP_EXECUTOR
from engine.ops.out_argument import with_out
from engine.ops.static_arguments import freeze_statics
from engine.shape import Shape, Spec

Kind = Literal["elementwise", "reduce", "movement", "other"]

AUGMENTED = frozenset(
    ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
)
"""Operators that have an augmented assignment, such as `+=`."""


def is_reflected(operator: str) -> bool:
    """Whether a method name is a reflected operator, such as `__radd__`."""
    return operator.startswith("__r") and operator != "__rshift__"


REGISTRY: dict[str, Op] = {}


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
        unpromoted: tuple[str, ...] = (),
        first_saved: int = 0,
        promotes: bool = False,
        rejects_booleans: bool = False,
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
        """Integer inputs are converted to the default float before the kernel runs."""
        self.rejects_booleans = rejects_booleans
        """Boolean inputs raise DTypeError."""
        self.result = result
        self.view = view
        """The output may share memory with the first input."""
        self.varargs = varargs
        """The static argument that takes the remaining positional arguments, as in `x.permute(2, 0, 1)`."""
        self.method = method
        self.public = method if public is None else public
        """Exported as `engine.NAME`."""
        self.operators = operators
        self.commutes = commutes
        """With a number first the operands are exchanged: `2 * x` is recorded as `x * 2`, as in PyTorch's graph."""
        self.outputs = outputs
        self.returns_new_tensor = outputs == 1 and not view
        """The result is one tensor in new memory."""
        self.random = random
        self.first_saved = first_saved
        """For variadic inputs: gradients need only shape and dtype of the inputs before this one."""
        self.sample = sample
        """For tests: takes a `Sampler`, returns a list of (args, kwargs)."""
        self.domain = domain
        self.in_place = kind == "elementwise" if in_place is None else in_place
        """There is a method `NAME_` that writes the result into the tensor, or turns the tensor into the view."""
        self.aliases = aliases
        """Aliases, also for the method and its in-place form."""
        self.takes_numbers = kind == "elementwise"
        self.promotes = promotes or kind == "elementwise" or floats
        self.rules: list[GradientRule] = []
        self.backward_plans: dict[int, BackwardPlan] = {}
        """Results of `backward_plan`; the key is its mask with the bit after the last input set as well."""
        self.keyword_overloads: dict[str, Callable[..., Any]] = {}
        """Functions to call instead if a call has the keyword; see `keyword`."""
        self._shape_rule: Callable[..., Any] | None = None
        self._macs_rule: Callable[..., Any] | None = None
        self._read_signature()
        self.simple_arity = self.arity if self.returns_new_tensor and not self.variadic and self.arity <= 2 else 0
        """Number of inputs if the op can take the fast path: one or two inputs and one new tensor; else 0."""
        self.native_dtypes = NATIVE_FLOATS if floats else NATIVE_FLOATS | NATIVE_INTEGERS
        """Array dtypes that need no conversion if all inputs have the same one."""
        self.unpromoted = frozenset(self.inputs.index(name) for name in unpromoted)
        """Indices of the inputs that do not take part in dtype promotion."""
        self.function = public_function(self)
        if self.public or method:
            reserve_names(self.name, aliases)
        if self.name in REGISTRY:
            raise RegistryError(f"op {self.name} is declared twice. Rename one of them.")
        REGISTRY[self.name] = self

    # -- declaration

    def gradient(self, *names: Any) -> Any:
        """Decorator for a gradient function of all inputs, or of the named ones: `gradient("x")`."""
        if len(names) == 1 and callable(names[0]):
            return self._add_rule(names[0], tuple(range(len(self.inputs))))
        covers = tuple(self.inputs.index(name) for name in names)
        return lambda function: self._add_rule(function, covers)

    def shape(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator for the shape rule: input Specs and statics → a shape, a Spec or a tuple of Specs."""
        self._shape_rule = function
        return function

    def macs(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator for the number of multiply-adds: output Spec, input Specs and statics → number."""
        self._macs_rule = function
        return function

    def keyword(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorator for an overload: calls that pass its last argument by keyword call it instead of the op."""
        self.keyword_overloads[list(inspect.signature(function).parameters)[-1]] = as_public_function(function)
        return function

    # -- use

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def _tensor_tuple(self, tensors: Any) -> tuple[Any, ...]:
        if hasattr(tensors, "dtype"):
            raise TypeError(f"{self.name}(): the tensors must be in a list or a tuple. Use {self.name}([a, b]).")
        return tuple(tensors)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
        """Split the arguments of a call into inputs and static arguments with defaults."""
        arity, names = self.arity, self.static_names
        if len(args) == arity and not self.variadic and self._static_name_set.issuperset(kwargs):
            statics = {**self.defaults, **kwargs} if kwargs else self.defaults
            if len(statics) == len(names):
                return args, statics
        elif self.has_all_defaults and names and not kwargs and len(args) == arity + 1 and self.varargs is None:
            return args[:arity], {**self.defaults, names[0]: args[arity]}
        elif self._has_one_static and not kwargs and len(args) > arity:
            value = args[arity]
            if self.varargs is not None and not isinstance(value, (tuple, list)) and value is not None:
                return args[:arity], {names[0]: args[arity:]}
            if len(args) == arity + 1:
                return args[:arity], {names[0]: value}
        if self.variadic:
            inputs: Sequence[Any] = self._tensor_tuple(args[0] if args else kwargs.pop(self.inputs[0]))
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
        statics = dict(zip(names, rest))  # noqa: B905 - missing arguments have defaults
        if kwargs or len(rest) < len(names):
            statics = {**self.defaults, **statics, **kwargs}
        if len(statics) != len(names) or not self._static_name_set.issuperset(kwargs):
            statics = self._check_statics(statics)
        return inputs, statics

    def _check_statics(self, statics: dict[str, Any]) -> dict[str, Any]:
        """Statics with aliases resolved. Raises TypeError for an unknown or missing argument."""
        for name in [name for name in statics if name in self.argument_aliases]:
            statics[self.argument_aliases[name]] = statics.pop(name)
        for name in statics:
            if name not in self._static_name_set:
                raise TypeError(
                    f"{self.name}() has no argument {name!r}. Its arguments are "
                    f"{', '.join((*self.inputs, *self.static_names))}."
                )
        missing = [name for name in self.static_names if name not in statics]
        if missing:
            raise TypeError(f"{self.name}() is missing the argument {missing[0]!r}")
        return statics

    def infer(self, specs: Sequence[Any], statics: dict[str, Any]) -> Any:
        """Apply the shape rule to Specs of promoted dtypes. Inputs may also be numbers or None."""
        if self._shape_rule is None:
            raise NotImplementedError(f"op {self.name} has no shape rule")
        return self._shape_rule(*specs, **statics)

    @property
    def has_shape_rule(self) -> bool:
        return self._shape_rule is not None

    def count_macs(self, out: Any, specs: Sequence[Any], statics: dict[str, Any]) -> Any:
        return 0 if self._macs_rule is None else self._macs_rule(out, *specs, **statics)

    def backward_plan(self, mask: int, count: int) -> BackwardPlan:
        """The rules and saved tensors of a call with `count` inputs. Bit i of `mask`: input i requires a gradient."""
        plan = self.backward_plans.get(key := mask | 1 << count)
        if plan is None:
            plan = self.backward_plans[key] = self._make_plan(mask, count)
        return plan

    def _make_plan(self, mask: int, count: int) -> BackwardPlan:
        if self.variadic:
            rules = tuple(self.rules) if mask else ()
        else:
            rules = tuple(rule for rule in self.rules if any(mask >> i & 1 for i in rule.covers))
        if self.variadic and any(rule.indices("input") for rule in rules):
            saved_inputs = tuple(range(self.first_saved, count))
        else:
            saved_inputs = tuple(sorted({index for rule in rules for index in rule.indices("input")}))
        saved_outputs = tuple(sorted({index for rule in rules for index in rule.indices("out")}))
        return BackwardPlan(rules, saved_inputs, saved_outputs)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    # -- implementation

    def _read_signature(self) -> None:
        arguments = list(inspect.signature(self.kernel).parameters.values())[1:]
        self.takes_out = self.result != "bool" and any(argument.name == "out" for argument in arguments)
        arguments = [argument for argument in arguments if argument.name != "out"]
        tensors = [argument for argument in arguments if argument.annotation is inspect.Parameter.empty]
        statics = [argument for argument in arguments if argument.annotation is not inspect.Parameter.empty]
        self.variadic = any(argument.kind is inspect.Parameter.VAR_POSITIONAL for argument in tensors)
        self.inputs = tuple(argument.name for argument in tensors)
        if self.takes_out and list(inspect.signature(self.kernel).parameters)[1 + len(tensors)] != "out":
            raise RegistryError(f"the kernel of op {self.name} must have argument out right after its inputs")
        self._input_defaults = {a.name: a.default for a in tensors if a.default is not inspect.Parameter.empty}
        self.static_names = tuple(argument.name for argument in statics)
        self.optional = bool(self._input_defaults)
        """An input may be None."""
        self._has_one_static = len(statics) == 1 and not self.variadic
        self._varargs_index = len(statics) if self.varargs is None else self.static_names.index(self.varargs)
        self._static_name_set = frozenset(self.static_names)
        self.defaults = {a.name: a.default for a in statics if a.default is not inspect.Parameter.empty}
        self.takes_dtype = any(a.name == "dtype" and "DType" in str(a.annotation) for a in statics)
        """There is a static argument `dtype`, which calls validate."""
        self.arity = len(self.inputs)
        self.argument_aliases = argument_aliases_of((*self.inputs, *self.static_names))
        """Argument names by alias."""
        self.has_all_defaults = len(self.defaults) == len(statics) and not self.variadic
        """All statics have defaults, and the inputs are not variadic."""
        self.signature = inspect.Signature(
            [a.replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for a in (*tensors, *statics)]
        )

    def _keyword(self, name: str, kwargs: dict[str, Any]) -> Any:
        for keyword in (name, *[alias for alias, aliased in self.argument_aliases.items() if aliased == name]):
            if keyword in kwargs:
                return kwargs.pop(keyword)
        if name in self._input_defaults:
            return self._input_defaults[name]
        raise TypeError(f"{self.name}() is missing the argument {name!r}")

    def _add_rule(self, function: Callable[..., Any], covers: tuple[int, ...]) -> Callable[..., Any]:
        results = {"out": 0} if self.outputs == 1 else {f"out{index}": index for index in range(self.outputs)}
        arguments: list[tuple[ArgumentSource, Any]] = []
        for argument in list(inspect.signature(function).parameters.values())[1:]:
            if argument.name in self.inputs:
                source = "spec" if argument.annotation in (Spec, "Spec") else "input"
                arguments.append((source, self.inputs.index(argument.name)))
            elif argument.name in self._static_name_set:
                arguments.append(("static", argument.name))
            elif argument.name in results:
                arguments.append(("out", results[argument.name]))
            else:
                raise RegistryError(
                    f"the gradient of op {self.name} has an argument {argument.name!r} that is no argument or result "
                    "of the op"
                )
        self.rules.append(GradientRule(function, covers, tuple(arguments)))
        return function


def op(kind: Kind = "elementwise", **options: Any) -> Callable[[Callable[..., Any]], Op]:
    """Decorator that declares the op of a kernel; see `Op` for the options."""
    return lambda kernel: Op(kernel, kind, **options)


def op_name(kernel: Callable[..., Any]) -> str:
    """The name of a kernel's op: the kernel's name without a trailing `_` or `_op`.

    `_` avoids hiding a built-in name (`sum_`). `_op` avoids a clash with the public function that calls the op: the
    composite `topk` calls `topk_op`, which is the op `topk`.
    """
    return kernel.__name__.rstrip("_").removesuffix("_op")


def reserve_names(name: str, aliases: tuple[str, ...]) -> None:
    """Reserve the public names of an op or a composite. Raises RegistryError if one is already reserved."""
    for public_name in (name, *aliases):
        if public_name in _reserved_names:
            raise RegistryError(f"op {public_name} is declared twice. Rename one of them.")
        _reserved_names.add(public_name)


_reserved_names: set[str] = set()


def operators() -> Iterator[Op]:
    """All ops, in order of declaration."""
    yield from REGISTRY.values()


def public_function(op: Op) -> Callable[..., Any]:
    """The function that users call: it splits its arguments into inputs and statics and runs the op."""
    executor, arity, plain, bind, defaults = OP_EXECUTOR, op.arity, op.has_all_defaults, op.bind, op.defaults
    has_statics = frozenset(op.static_names).issuperset
    takes_dtype = op.takes_dtype

    def function(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            if takes_dtype and "dtype" in kwargs:
                kwargs["dtype"] = as_optional_dtype(op.name, kwargs["dtype"])
            if plain and len(args) == arity and has_statics(kwargs):
                return executor.run(op, args, {**defaults, **freeze_statics(kwargs)})
            if ("out" in kwargs or op.keyword_overloads) and (overload := find_overload(op, kwargs)):
                return overload(*args, **kwargs)
        elif plain and len(args) == arity:
            return executor.run(op, args, defaults)
        inputs, statics = bind(args, kwargs)
        if takes_dtype:
            statics = {**statics, "dtype": as_optional_dtype(op.name, statics["dtype"])}
        return executor.run(op, inputs, statics if statics is defaults else freeze_statics(statics))

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = op.kernel.__doc__
    function.__module__ = op.kernel.__module__
    function.__signature__ = op.signature  # pyright: ignore[reportFunctionMemberAccess]
    function.argument_aliases = op.argument_aliases  # pyright: ignore[reportFunctionMemberAccess]
    return function


def find_overload(op: Op, kwargs: dict[str, Any]) -> Callable[..., Any] | None:
    """The overload that these keywords select, or None for the op itself."""
    if "out" in kwargs:
        return with_out(op.function)
    return next((op.keyword_overloads[name] for name in kwargs if name in op.keyword_overloads), None)


__all__ = [
    "AUGMENTED",
    "REGISTRY",
    "Kind",
    "Op",
    "Shape",
    "Spec",
    "find_overload",
    "reserve_names",
    "is_reflected",
    "op",
    "op_name",
    "operators",
]
