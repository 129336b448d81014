"""Source of Python nodes: the ports and parameters of its function or module class. It is parsed, never executed."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from engine.system.syntax import parse_source
from studio.nodes.python_arguments import ANNOTATIONS, CodeArgument, literal_default, read_annotation
from studio.nodes.python_errors import CodeError

MAX_CHARACTERS = 100_000
MAX_INPUTS = 16
MAX_OUTPUTS = 16
SINGLE = "output"
"""Name of the only output."""
RESERVED = frozenset({"source", "self", "cls"})
"""Names that arguments cannot have."""

_INVISIBLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]"
)
"""Control characters, and marks that show text in another order than it is read in."""


@dataclass(frozen=True, slots=True)
class Code:
    """What the source of a Python node declares."""

    entry: str
    """Name of the function or class that the node calls."""
    is_class: bool
    inputs: tuple[CodeArgument, ...]
    outputs: tuple[str, ...]
    params: tuple[CodeArgument, ...]
    help: str
    """The docstrings of the function, or of the class and its constructor."""
    names: frozenset[str]
    """Names that the source defines at its top level."""
    leading: int
    """Number of inputs that come before all other arguments, so that a call passes them by position."""


@functools.lru_cache(maxsize=256)
def read_code(source: str) -> Code:
    """What a source declares. Raises CodeError with the line and column, and what to write instead."""
    try:
        return _read(source)
    except RecursionError:
        raise CodeError("the code is nested too deeply. Split it into several statements") from None


def code_error(source: str) -> CodeError | None:
    """The error of a source; None if it can be used."""
    try:
        read_code(source)
    except CodeError as error:
        return error
    return None


def source_problem(source: str) -> str | None:
    """Why a source cannot be used, as the end of a sentence; None if it can."""
    error = code_error(source)
    return None if error is None else f"cannot be used; {error}"


def code_tree(source: str) -> ast.Module:
    """The syntax tree of a source. Raises CodeError."""
    if len(source) > MAX_CHARACTERS:
        raise CodeError(f"the code has {len(source):,} characters, but at most {MAX_CHARACTERS:,} are allowed")
    if found := _INVISIBLE.search(source):
        line = source.count("\n", 0, found.start()) + 1
        column = found.start() - source.rfind("\n", 0, found.start())
        raise CodeError(f"the invisible character U+{ord(found[0]):04X} is not allowed. Remove it", line, column)
    try:
        return parse_source(source)
    except SyntaxError as error:
        reason = error.msg[:1].lower() + error.msg[1:].rstrip(".")
        raise CodeError(reason, error.lineno or 1, error.offset or 1) from None
    except (ValueError, RecursionError, MemoryError):
        raise CodeError("the code is nested too deeply. Split it into several statements") from None


def _read(source: str) -> Code:
    tree = code_tree(source)
    entry = _entry(tree)
    if not entry.name.isascii() or entry.name.startswith("_"):
        _reject(entry, f"the name {entry.name!r} must begin with a letter and use only a-z, A-Z, 0-9 and _")
    if isinstance(entry, ast.ClassDef):
        called, made = _method(entry, "forward"), _method(entry, "__init__")
        if called is None:
            _reject(entry, f"{entry.name} has no method forward. Add one, such as def forward(self, x)")
        inputs, others = _arguments(called, is_method=True)
        constructed, params = ([], []) if made is None else _arguments(made, is_method=True)
        if constructed:
            _reject(constructed[0].node, f"{constructed[0].name} needs an annotation of {ANNOTATIONS}, or a default")
        if required := [each for each in others if each.default is None]:
            _reject(required[0].node, f"forward takes tensors; make {required[0].name} an argument of __init__")
    else:
        called = entry
        inputs, params = _arguments(called, is_method=False)
    if not inputs:
        _reject(called, f"{called.name} takes no tensor. Add an argument without a default, such as x")
    if len(inputs) > MAX_INPUTS:
        _reject(called, f"{called.name} takes {len(inputs)} tensors, but at most {MAX_INPUTS} are allowed")
    leading = [each.arg for each in called.args.args if each.arg != "self"][: len(inputs)]
    return Code(
        entry.name,
        isinstance(entry, ast.ClassDef),
        tuple(inputs),
        _outputs(called),
        tuple(params),
        _docstring(entry),
        frozenset(defined_names(tree)),
        next((at for at, each in enumerate(inputs) if leading[at : at + 1] != [each.name]), len(inputs)),
    )


def defined_names(tree: ast.Module) -> Iterator[str]:
    """Names that statements at the top level define."""
    for statement in tree.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from ((each.asname or each.name).partition(".")[0] for each in names)
            case _:
                stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
                yield from (node.id for node in stored if isinstance(node.ctx, ast.Store))


def _entry(tree: ast.Module) -> ast.FunctionDef | ast.ClassDef:
    """The last class that is a module, or else the last function."""
    classes = [each for each in tree.body if isinstance(each, ast.ClassDef) and _is_module(each)]
    functions = [each for each in tree.body if isinstance(each, ast.FunctionDef)]
    if classes or functions:
        return (classes or functions)[-1]
    other = next((each for each in tree.body if isinstance(each, (ast.ClassDef, ast.AsyncFunctionDef))), None)
    if isinstance(other, ast.AsyncFunctionDef):
        _reject(other, f"{other.name} is asynchronous. Write def {other.name} without async")
    if other is not None:
        _reject(other, f"{other.name} is not a module. Write class {other.name}(nn.Module)")
    raise CodeError("the code has no function and no class. Write one, such as def double(x): return 2 * x", 1, 1)


def _is_module(definition: ast.ClassDef) -> bool:
    names = [base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in definition.bases]
    return any(name.endswith("Module") for name in names) or _method(definition, "forward") is not None


def _method(definition: ast.ClassDef, name: str) -> ast.FunctionDef | None:
    return next((each for each in definition.body if isinstance(each, ast.FunctionDef) and each.name == name), None)


def _docstring(entry: ast.FunctionDef | ast.ClassDef) -> str:
    made = _method(entry, "__init__") if isinstance(entry, ast.ClassDef) else None
    texts = [ast.get_docstring(each) for each in (entry, made) if each is not None]
    return "\n\n".join(text for text in texts if text)


# -- arguments --------------------------------------------------------------------------------


def _arguments(function: ast.FunctionDef, *, is_method: bool) -> tuple[list[CodeArgument], list[CodeArgument]]:
    """The tensors that a function takes, and its other arguments."""
    declared = function.args
    for variadic in (declared.vararg, declared.kwarg):
        if variadic is not None:
            _reject(variadic, f"{function.name} takes any number of arguments ({variadic.arg}). Name each argument")
    if declared.posonlyargs:
        _reject(declared.posonlyargs[0], f"{function.name} has arguments before /. Remove the /")
    positional = declared.args
    if is_method:
        if not positional:
            _reject(function, f"the first argument of {function.name} must be self")
        positional = positional[1:]
    gap = len(positional) - len(declared.defaults)
    defaults: list[ast.expr | None] = [*([None] * gap), *declared.defaults[-len(positional) :]]
    pairs = [*zip(positional, defaults[: len(positional)], strict=True)]
    pairs += zip(declared.kwonlyargs, declared.kw_defaults, strict=True)
    inputs: list[CodeArgument] = []
    params: list[CodeArgument] = []
    for node, default in pairs:
        found = _argument(node, default, is_keyword=node in declared.kwonlyargs)
        (inputs if found.is_tensor else params).append(found)
    return inputs, params


def _argument(node: ast.arg, default: ast.expr | None, *, is_keyword: bool) -> CodeArgument:
    name = node.arg
    if not name.isascii() or name.startswith("_"):
        _reject(node, f"the name {name!r} must begin with a letter and use only a-z, A-Z, 0-9 and _")
    if name in RESERVED:
        _reject(node, f"an argument cannot be named {name}. Rename it")
    annotation = read_annotation(node.annotation)
    if annotation is not None and annotation.is_tensor:
        if default is not None and not (isinstance(default, ast.Constant) and default.value is None):
            _reject(default, f"the default of the tensor {name} must be None")
        return CodeArgument(name, node, is_tensor=True, is_optional=default is not None)
    if node.annotation is None and isinstance(default, ast.Constant) and default.value is None:
        return CodeArgument(name, node, is_tensor=True, is_optional=True)
    if default is None and annotation is None:
        if node.annotation is not None or is_keyword:
            _reject(node, f"{name} needs an annotation of {ANNOTATIONS}, or a default")
        return CodeArgument(name, node, is_tensor=True)
    return literal_default(node, annotation, default)


# -- outputs ----------------------------------------------------------------------------------


def _outputs(function: ast.FunctionDef) -> tuple[str, ...]:
    returned = list(_returns(function))
    annotated = _annotated_count(function)
    if not returned:
        _reject(function, f"{function.name} returns nothing. Return a tensor")
    lengths = {len(each.elts) if isinstance(each, ast.Tuple) else 1 for each in returned}
    count = annotated or (lengths.pop() if len(lengths) == 1 else 1)
    if not 1 <= count <= MAX_OUTPUTS:
        _reject(function, f"{function.name} must return 1 to {MAX_OUTPUTS} tensors")
    is_tuple = annotated is not None or all(isinstance(each, ast.Tuple) for each in returned)
    if count == 1 and not (is_tuple and function.returns is not None and _is_tuple(function.returns)):
        return (SINGLE,)
    names = {tuple(_plain_names(each)) for each in returned}
    found = names.pop() if len(names) == 1 else ()
    is_named = len(found) == count and len(set(found)) == count
    return found if is_named else tuple(f"out{index}" for index in range(count))


def _returns(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """The values that a function returns. Raises CodeError for a generator."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            _reject(node, f"{function.name} is a generator. Return a tensor instead of yield")
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(node))


def _annotated_count(function: ast.FunctionDef) -> int | None:
    """Number of tensors in the annotation of the result; None if it does not tell."""
    match function.returns:
        case None:
            return None
        case ast.Subscript(slice=inner) as annotation if _is_tuple(annotation):
            parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            if any(isinstance(part, ast.Constant) and part.value is ... for part in parts):
                _reject(annotation, "the number of outputs must be fixed, such as tuple[Tensor, Tensor]")
            return len(parts)
        case annotation if _is_tuple(annotation):
            return None
        case _:
            return 1


def _is_tuple(annotation: ast.expr) -> bool:
    owner = annotation.value if isinstance(annotation, ast.Subscript) else annotation
    name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
    return name.lower() == "tuple"


def _plain_names(value: ast.expr) -> Iterator[str]:
    for part in value.elts if isinstance(value, ast.Tuple) else [value]:
        if isinstance(part, ast.Name) and part.id.isascii() and not part.id.startswith("_"):
            yield part.id


def _reject(node: ast.AST, reason: str) -> NoReturn:
    raise CodeError(reason, getattr(node, "lineno", 1), getattr(node, "col_offset", 0) + 1)


__all__ = [
    "MAX_CHARACTERS",
    "SINGLE",
    "Code",
    "CodeError",
    "code_error",
    "code_tree",
    "defined_names",
    "read_code",
    "source_problem",
]
