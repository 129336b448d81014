"""Derivatives as function transforms: `grad(f)` is the function that computes the gradient of `f`.

Arguments and results are tensors, or dicts, lists and tuples of tensors, such as a model's parameters by name. Results
are differentiable if the arguments require gradients, so these transforms can be nested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine.autograd import functional
from engine.errors import AutogradError
from engine.graph import grad as gradients
from engine.modes import enable_grad
from engine.ops.movement.joining import stack
from engine.tensors import Tensor
from engine.tensors.creation import zeros_like
from engine.tensors.structure import items, leaves, replace_tensors, structure_of

Function = Callable[..., Any]
Argnums = int | tuple[int, ...]


def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """Return a function that computes the gradient of `func`, whose result must have one element.

    Args:
        func: returns a tensor with one element; with `has_aux`, that and auxiliary data
        argnums: index of the argument to differentiate with respect to; several indices return a tuple
        has_aux: return the auxiliary data of `func` too
    """

    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, value = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """Return a function that computes the gradient and the value of `func`. Arguments as for `grad`."""

    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        tracked = _Tracked(args, argnums)
        with enable_grad():
            result = func(*tracked.args, **kwargs)
            value, aux = result if has_aux else (result, None)
            if not isinstance(value, Tensor) or value.numel() != 1:
                found = f"a tensor of shape {list(value.shape)}" if isinstance(value, Tensor) else repr(value)
                raise AutogradError(f"grad(): the function must return a tensor with one element, not {found}.")
            found = tracked.gradients([value], None)
        value, aux = tracked.released(value), tracked.released(aux)
        return tracked.shaped(found), (value, aux) if has_aux else value

    return gradient_and_value


def vjp(func: Function, *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return the result of `func` and a function that computes vector-Jacobian products at `primals`."""
    tracked = _Tracked(primals, tuple(range(len(primals))))
    with enable_grad():
        result = func(*tracked.args)
    value, aux = result if has_aux else (result, None)
    outputs = list(leaves(value))

    def product(*cotangents: Any) -> tuple[Any, ...]:
        tree = cotangents[0] if len(cotangents) == 1 else cotangents
        _require_structure("vjp", "the vectors", tree, "the function's result", value)
        vectors = list(leaves(tree))
        if [v.shape for v in vectors] != [out.shape for out in outputs]:
            raise AutogradError("vjp(): the vectors must have the shapes of the function's results.")
        return tracked.shaped(tracked.gradients(outputs, vectors))

    released = tracked.released(value)
    return (released, product, tracked.released(aux)) if has_aux else (released, product)


def jvp(
    func: Function, primals: tuple[Any, ...], tangents: tuple[Any, ...], *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """Return the result of `func(*primals)` and its Jacobian-vector product with `tangents`.

    Args:
        func: takes and returns tensors or structures of them; with `has_aux`, also returns auxiliary data
        primals: arguments of `func`
        tangents: directions, with the structure of `primals`
        strict: raise an error for results that do not depend on a primal
        has_aux: return the auxiliary data of `func` too
    """
    graph, aux_values = _wants_graph((primals, tangents)), []
    primals, value = tuple(primals), None
    _require_tensors("jvp(): the primals", primals)
    _require_structure("jvp", "the tangents", tuple(tangents), "the primals", primals)

    def flat_function(*flat: Tensor) -> tuple[Tensor, ...]:
        nonlocal value
        value = func(*replace_tensors(primals, iter(flat)))
        if has_aux:
            value, aux = value
            aux_values.append(aux if graph else replace_tensors(aux, (leaf.detach() for leaf in leaves(aux))))
        _require_tensors("jvp(): the result of the function", value)
        return tuple(leaves(value))

    flat = tuple(leaves(primals)), tuple(leaves(tangents))
    found = functional.jvp(flat_function, *flat, create_graph=graph, strict=strict)
    return (*[replace_tensors(value, iter(part)) for part in found], *aux_values)


def linearize(func: Function, *primals: Any) -> tuple[Any, Function]:
    """Return the result of `func(*primals)` and a function that computes Jacobian-vector products there.

    `func` runs once, however often the returned function is called.
    """
    tracked = _Tracked(primals, tuple(range(len(primals))))
    with enable_grad():
        value = func(*tracked.args)
        outputs = list(leaves(value))
        seeds = [zeros_like(out).requires_grad_() for out in outputs]
        input_gradients = tracked.gradients(outputs, list(seeds), keep=True)

    def product(*tangents: Any) -> Any:
        _require_structure("linearize", "the tangents", tangents, "the function's arguments", primals)
        vectors = list(leaves(tangents))
        if [v.shape for v in vectors] != [x.shape for x in tracked.inputs]:
            raise AutogradError("linearize(): the tangents must have the shapes of the function's arguments.")
        dependent = [
            (input_gradient, v)
            for input_gradient, v in zip(input_gradients, vectors, strict=True)
            if input_gradient.requires_grad
        ]
        if not dependent:
            return replace_tensors(value, iter([zeros_like(out) for out in outputs]))
        create_graph = tracked.keeps_graph or _wants_graph(tangents)
        found = gradients(
            [input_gradient for input_gradient, _ in dependent],
            seeds,
            [v for _, v in dependent],
            retain_graph=True,
            create_graph=create_graph,
            allow_unused=True,
        )
        return replace_tensors(
            value, iter([zeros_like(x) if g is None else g for g, x in zip(found, outputs, strict=True)])
        )

    return tracked.released(value), product


def jacrev(func: Function, argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None) -> Function:
    """Return a function that computes the Jacobian of `func`, row by row in reverse mode.

    Args:
        func: returns a tensor or a structure of tensors; with `has_aux`, that and auxiliary data
        argnums: index of the argument to differentiate with respect to; several indices return a tuple
        has_aux: return the auxiliary data of `func` too
        chunk_size: no effect: rows are computed one by one
    """

    def jacobian(*args: Any, **kwargs: Any) -> Any:
        tracked = _Tracked(args, argnums)
        with enable_grad():
            result = func(*tracked.args, **kwargs)
            value, aux = result if has_aux else (result, None)
            rows = [tracked.shaped(tracked.rows(out)) for out in leaves(value)]
        found = replace_tensors(value, iter(rows))
        return (found, tracked.released(aux)) if has_aux else found

    return jacobian


def jacfwd(func: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Function:
    """Same as `jacrev`: the Jacobian is computed in reverse mode. `randomness` has no effect."""
    return jacrev(func, argnums, has_aux=has_aux)


def hessian(func: Function, argnums: Argnums = 0) -> Function:
    """Return a function that computes the Hessian of `func`."""
    return jacrev(jacrev(func, argnums), argnums)


class _Tracked:
    """Arguments of a call, some of them prepared for differentiation."""

    def __init__(self, args: Sequence[Any], argnums: Argnums) -> None:
        self.one = isinstance(argnums, int)
        indices = [argnums] if isinstance(argnums, int) else list(argnums)
        indices = [index + len(args) if index < 0 else index for index in indices]
        if not all(0 <= index < len(args) for index in indices):
            raise AutogradError(f"argnums={argnums} is out of range for {len(args)} arguments")
        self.keeps_graph = _wants_graph(args)
        self.trees = [args[index] for index in indices]
        self.inputs = [_tracked_leaf(leaf) for tree in self.trees for leaf in leaves(tree)]
        inputs = iter(self.inputs)
        tracked_args = {index: replace_tensors(tree, inputs) for index, tree in zip(indices, self.trees, strict=True)}
        self.args = [tracked_args.get(index, arg) for index, arg in enumerate(args)]

    def gradients(self, outputs: list[Tensor], vectors: list[Tensor] | None, *, keep: bool = False) -> list[Tensor]:
        """Return gradients, zeros for unused inputs. Differentiable if an argument requires them, or with `keep`."""
        outputs, vectors = self._dependent(outputs, vectors)
        if not outputs:
            return [zeros_like(x) for x in self.inputs]
        with enable_grad():
            found = gradients(outputs, self.inputs, vectors, retain_graph=True, create_graph=True, allow_unused=True)
        found = [zeros_like(x) if g is None else g for g, x in zip(found, self.inputs, strict=True)]
        return found if keep else [self.released(one) for one in found]

    def rows(self, output: Tensor) -> list[Tensor]:
        """Return the Jacobian of one output with respect to every input."""
        flat = output.reshape(-1)
        rows = [self.gradients([flat[i]], None) for i in range(len(flat))]
        columns = [[row[index] for row in rows] for index in range(len(self.inputs))]
        return [
            (stack(column) if column else x.new_zeros(0)).reshape(*output.shape, *x.shape)
            for column, x in zip(columns, self.inputs, strict=True)
        ]

    def released(self, tree: Any) -> Any:
        return tree if self.keeps_graph else replace_tensors(tree, (leaf.detach() for leaf in leaves(tree)))

    def shaped(self, found: list[Any]) -> Any:
        """Arrange results, given per leaf, in the structure of the arguments."""
        parts = iter(found)
        trees = tuple(replace_tensors(tree, parts) for tree in self.trees)
        return trees[0] if self.one else trees

    @staticmethod
    def _dependent(outputs: list[Tensor], vectors: list[Tensor] | None) -> tuple[list[Tensor], list[Tensor] | None]:
        dependent = [i for i, out in enumerate(outputs) if out.requires_grad]
        return [outputs[i] for i in dependent], None if vectors is None else [vectors[i] for i in dependent]


def _tracked_leaf(tensor: Tensor) -> Tensor:
    return tensor.view(tensor.shape) if tensor.requires_grad else tensor.detach().requires_grad_()


def _require_structure(call: str, what: str, tree: Any, expected_what: str, expected_tree: Any) -> None:
    found, expected = structure_of(tree), structure_of(expected_tree)
    if found != expected:
        raise AutogradError(f"{call}(): {what} must have the structure of {expected_what}, {expected}, not {found}.")


def _require_tensors(what: str, tree: Any) -> None:
    for item in items(tree):
        if not isinstance(item, Tensor):
            kind = type(item).__name__
            raise AutogradError(f"{what} must be tensors, or dicts, lists and tuples of them, not {kind}.")


def _wants_graph(tree: Any) -> bool:
    return any(leaf.requires_grad for leaf in leaves(tree))
