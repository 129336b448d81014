"""Pruning: some of a parameter's elements become 0 and stay so, by a mask that is applied before each forward pass.

The parameter NAME becomes the parameter ``NAME_orig``, the buffer ``NAME_mask`` and the attribute NAME, their product.
There are six ways to choose, and a function for each.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal

from engine.nn.module import Module
from engine.nn.utils.convert_parameters import parameters_to_vector
from engine.nn.utils.pruning_masks import Amount, checked_amount, dimension, fitting, of_best_slices, without_smallest
from engine.ops.linalg.norms import norm
from engine.tensors import Tensor
from engine.tensors.creation import ones_like, rand, rand_like


class BasePruningMethod(ABC):
    """A way to choose what is pruned: a subclass gives `PRUNING_TYPE` and `compute_mask`.

    An instance is the hook that applies the mask of one parameter of one module.
    """

    PRUNING_TYPE: ClassVar[Literal["unstructured", "structured", "global"]]
    """What a second method sees: single elements that are left, slices along `dim` that are left, or everything."""
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Ones where `t` is kept, zeros where it is pruned; what is 0 in `default_mask` stays so."""

    def apply_mask(self, module: Module) -> Tensor:
        """The parameter with zeros where it is pruned."""
        original = getattr(module, f"{self._tensor_name}_orig")
        return getattr(module, f"{self._tensor_name}_mask").to(original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune a parameter by this method, made of the other arguments; on top of those that it has.

        Args:
            module: what the parameter belongs to
            name: what the parameter is called there
            args: for the method
            importance_scores: judge elements by these, not by the parameter's numbers
            kwargs: for the method
        """
        value = getattr(module, name)
        scores = fitting(importance_scores, value, f"parameter {name}")
        method = cls(*args, **kwargs)
        method._tensor_name = name
        earlier = next((m for m in _methods(module) if m._tensor_name == name), None)
        if earlier is None:
            whole = ones_like(value)
        else:
            method = _joined(earlier, method)
            whole = getattr(module, f"{name}_mask").detach().clone()
        mask = method.compute_mask(scores, default_mask=whole)
        if earlier is None:
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", value)
        else:
            _forget(module, earlier)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """`t` with zeros where this method prunes it; no module is touched."""
        scores = fitting(importance_scores, t, "tensor t")
        return t * self.compute_mask(scores, default_mask=ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Make the parameter, zeros included, an ordinary one again."""
        pruned = self.apply_mask(module).detach()
        delattr(module, self._tensor_name)
        original = module._parameters.pop(f"{self._tensor_name}_orig")
        del module._buffers[f"{self._tensor_name}_mask"]
        assert original is not None
        original.data = pruned
        setattr(module, self._tensor_name, original)


class PruningContainer(BasePruningMethod):
    """Several methods, each of which prunes what those before have left."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method for the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method).__name__} is no BasePruningMethod")
        if self._tensor_name != method._tensor_name:
            raise ValueError(f"these methods prune {self._tensor_name!r}, and the new one {method._tensor_name!r}")
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last method for what `default_mask` has left."""
        method = self._pruning_methods[-1]
        if method.PRUNING_TYPE == "unstructured":
            left: Any = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = dimension(t, method.dim)  # pyright: ignore[reportAttributeAccessIssue]
            others = [d for d in range(t.ndim) if d != dim]
            left = (*[slice(None)] * dim, default_mask.sum(others) != 0)
        else:
            left = (slice(None),) * t.ndim
        mask = default_mask.to(t.dtype, copy=True)
        mask[left] = method.compute_mask(t[left], default_mask=default_mask[left]).to(mask.dtype)
        return mask


# -- the methods ------------------------------------------------------------------------------


class Identity(BasePruningMethod):
    """Prunes nothing, but makes mask and original."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> BasePruningMethod:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().apply(module, name)


class RandomUnstructured(BasePruningMethod):
    """Prunes elements by chance."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Amount) -> None:
        self.amount = checked_amount(amount)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return without_smallest(rand_like(t), default_mask, self.amount)

    @classmethod
    def apply(cls, module: Module, name: str, amount: Amount) -> BasePruningMethod:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().apply(module, name, amount=amount)


class L1Unstructured(BasePruningMethod):
    """Prunes the elements of smallest absolute value."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Amount) -> None:
        self.amount = checked_amount(amount)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return without_smallest(t.detach().abs(), default_mask, self.amount)

    @classmethod
    def apply(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls, module: Module, name: str, amount: Amount, importance_scores: Tensor | None = None
    ) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class RandomStructured(BasePruningMethod):
    """Prunes slices along a dimension by chance."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Amount, dim: int = -1) -> None:
        self.amount, self.dim = checked_amount(amount), dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        dim = dimension(t, self.dim)
        return of_best_slices(rand(t.shape[dim]), t, default_mask, self.amount, dim)

    @classmethod
    def apply(cls, module: Module, name: str, amount: Amount, dim: int = -1) -> BasePruningMethod:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(BasePruningMethod):
    """Prunes the slices along a dimension that have the smallest norms."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Amount, n: Any, dim: int = -1) -> None:
        self.amount, self.n, self.dim = checked_amount(amount), n, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        dim = dimension(t, self.dim)
        norms = norm(t.detach(), p=self.n, dim=[d for d in range(t.ndim) if d != dim])
        return of_best_slices(norms, t, default_mask, self.amount, dim)

    @classmethod
    def apply(  # pyright: ignore[reportIncompatibleMethodOverride]
        cls, module: Module, name: str, amount: Amount, n: Any, dim: int, importance_scores: Tensor | None = None
    ) -> BasePruningMethod:
        return super().apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask is 0."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask * fitting(self.mask, default_mask, "the tensor").to(default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> BasePruningMethod:  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().apply(module, name, mask=mask)


# -- functions --------------------------------------------------------------------------------


def identity(module: Module, name: str) -> Module:
    """Make mask and original of a parameter without pruning anything."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Amount) -> Module:
    """Prune an amount of a parameter's elements by chance."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: Amount, importance_scores: Tensor | None = None) -> Module:
    """Prune the amount of a parameter's elements whose absolute values, or scores, are smallest."""
    L1Unstructured.apply(module, name, amount, importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Amount, dim: int) -> Module:
    """Prune an amount of a parameter's slices along `dim` by chance."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: Amount, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prune the amount of a parameter's slices along `dim` whose n-norms are smallest."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune a parameter where the mask is 0."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: Mapping[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune an amount of all the elements of several parameters together.

    Args:
        parameters: pairs of a module and its parameter's name
        pruning_method: a class of PRUNING_TYPE "unstructured", such as `L1Unstructured`
        importance_scores: judge elements by these, not by the parameters' numbers
        kwargs: for the method, such as its `amount`
    """
    if importance_scores is not None and not isinstance(importance_scores, Mapping):
        raise TypeError("global_unstructured(): importance_scores is a mapping from (module, name) to tensors")
    places, given = list(parameters), importance_scores or {}
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(f"global_unstructured(): {pruning_method.__name__} prunes whole channels, not single elements")
    values = [getattr(module, name) for module, name in places]
    whole = [getattr(m, f"{name}_mask", ones_like(v)) for (m, name), v in zip(places, values, strict=True)]
    scores: list[Any] = [given.get(place, value) for place, value in zip(places, values, strict=True)]
    method._tensor_name = "all"
    container = PruningContainer(method)
    mask = container.compute_mask(parameters_to_vector(scores).detach(), parameters_to_vector(whole))
    for (module, name), part in zip(places, mask.split([value.numel() for value in values]), strict=True):
        custom_from_mask(module, name, part.view_as(getattr(module, name)))


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter, zeros included, an ordinary one again."""
    for method in _methods(module):
        if method._tensor_name == name:
            method.remove(module)
            _forget(module, method)
            return module
    raise ValueError(f"{type(module).__name__} has no pruned parameter {name!r}")


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module, or of one in it, is pruned."""
    return any(_methods(part) for part in module.modules())


# -- inside -----------------------------------------------------------------------------------


def _methods(module: Module) -> list[BasePruningMethod]:
    return [hook for hook in module._forward_pre_hooks.values() if isinstance(hook, BasePruningMethod)]


def _forget(module: Module, method: BasePruningMethod) -> None:
    """Takes the method's hook away."""
    hooks = module._hooks
    assert hooks is not None
    for key in [key for key, hook in hooks.forward_pre.items() if hook.function is method]:
        del hooks.forward_pre[key]


def _joined(earlier: BasePruningMethod, method: BasePruningMethod) -> PruningContainer:
    container = earlier if isinstance(earlier, PruningContainer) else PruningContainer(earlier)
    container.add_pruning_method(method)
    return container


__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]
