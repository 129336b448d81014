"""Pruning: masks that set elements of parameters to 0 before each forward pass.

The parameter NAME is replaced by the parameter ``NAME_orig``, the buffer ``NAME_mask`` and the attribute NAME, their
product.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal

from engine.nn.module import Module
from engine.nn.utils.convert_parameters import parameters_to_vector
from engine.nn.utils.pruning_masks import (
    Amount,
    checked_amount,
    checked_shape,
    pruning_dim,
    without_smallest,
    without_smallest_slices,
)
from engine.ops.linalg.norms import norm
from engine.tensors import Tensor
from engine.tensors.creation import ones_like, rand, rand_like


class BasePruningMethod(ABC):
    """Base class of pruning methods; a subclass defines `PRUNING_TYPE` and `compute_mask`.

    An instance is the hook that applies the mask of one parameter of one module.
    """

    PRUNING_TYPE: ClassVar[Literal["unstructured", "structured", "global"]]
    """Candidates of a subsequent method: remaining elements, remaining slices along `dim`, or everything."""
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Mask of `t`: 1 where it is kept, 0 where it is pruned. Zeros of `default_mask` remain 0."""

    def apply_mask(self, module: Module) -> Tensor:
        """Pruned value of the parameter."""
        original = getattr(module, f"{self._tensor_name}_orig")
        return getattr(module, f"{self._tensor_name}_mask").to(original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune a parameter with this method, in addition to existing methods.

        Args:
            module: module with the parameter
            name: name of the parameter
            args: arguments of the method
            importance_scores: scores that rank the elements, instead of their values
            kwargs: arguments of the method
        """
        value = getattr(module, name)
        scores = checked_shape(importance_scores, value, f"parameter {name}")
        method = cls(*args, **kwargs)
        method._tensor_name = name
        existing = next((m for m in _methods(module) if m._tensor_name == name), None)
        if existing is None:
            default_mask = ones_like(value)
        else:
            method = _combine(existing, method)
            default_mask = getattr(module, f"{name}_mask").detach().clone()
        mask = method.compute_mask(scores, default_mask=default_mask)
        if existing is None:
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", value)
        else:
            _remove_hook(module, existing)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """Pruned copy of `t`, without changing a module."""
        scores = checked_shape(importance_scores, t, "tensor t")
        return t * self.compute_mask(scores, default_mask=ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Module) -> None:
        """Make pruning permanent: the parameter keeps its zeros."""
        pruned = self.apply_mask(module).detach()
        delattr(module, self._tensor_name)
        original = module._parameters.pop(f"{self._tensor_name}_orig")
        del module._buffers[f"{self._tensor_name}_mask"]
        assert original is not None
        original.data = pruned
        setattr(module, self._tensor_name, original)


class PruningContainer(BasePruningMethod):
    """Sequence of methods, each applied to the elements that the previous ones kept."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method for the same parameter."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method).__name__} is not a BasePruningMethod")
        if self._tensor_name != method._tensor_name:
            raise ValueError(f"the container prunes {self._tensor_name!r}, but the new method {method._tensor_name!r}")
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Mask of the last method, applied to what `default_mask` keeps."""
        method = self._pruning_methods[-1]
        if method.PRUNING_TYPE == "unstructured":
            remaining: Any = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = pruning_dim(t, method.dim)  # pyright: ignore[reportAttributeAccessIssue]
            others = [d for d in range(t.ndim) if d != dim]
            remaining = (*[slice(None)] * dim, default_mask.sum(others) != 0)
        else:
            remaining = (slice(None),) * t.ndim
        mask = default_mask.to(t.dtype, copy=True)
        mask[remaining] = method.compute_mask(t[remaining], default_mask=default_mask[remaining]).to(mask.dtype)
        return mask


# -- methods ------------------------------------------------------------------------------


class Identity(BasePruningMethod):
    """Prunes nothing, but creates mask and original."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes random elements."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: Amount) -> None:
        self.amount = checked_amount(amount)

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return without_smallest(rand_like(t), default_mask, self.amount)


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
    """Prunes random slices along a dimension."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Amount, dim: int = -1) -> None:
        self.amount, self.dim = checked_amount(amount), dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        dim = pruning_dim(t, self.dim)
        return without_smallest_slices(rand(t.shape[dim]), t, default_mask, self.amount, dim)


class LnStructured(BasePruningMethod):
    """Prunes the slices along a dimension that have the smallest norms."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: Amount, n: Any, dim: int = -1) -> None:
        self.amount, self.n, self.dim = checked_amount(amount), n, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        dim = pruning_dim(t, self.dim)
        norms = norm(t.detach(), p=self.n, dim=[d for d in range(t.ndim) if d != dim])
        return without_smallest_slices(norms, t, default_mask, self.amount, dim)

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
        return default_mask * checked_shape(self.mask, default_mask, "the tensor").to(default_mask.dtype)


# -- functions --------------------------------------------------------------------------------


def identity(module: Module, name: str) -> Module:
    """Create mask and original of a parameter without pruning."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: Amount) -> Module:
    """Prune random elements of a parameter."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: Amount, importance_scores: Tensor | None = None) -> Module:
    """Prune the elements of a parameter with the smallest absolute values or scores."""
    L1Unstructured.apply(module, name, amount, importance_scores)
    return module


def random_structured(module: Module, name: str, amount: Amount, dim: int) -> Module:
    """Prune random slices of a parameter along `dim`."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: Amount, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prune the slices of a parameter along `dim` with the smallest n-norms."""
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
    """Prune elements of several parameters together, ranked globally.

    Args:
        parameters: (module, parameter name) pairs
        pruning_method: a class of PRUNING_TYPE "unstructured", such as `L1Unstructured`
        importance_scores: scores that rank the elements, instead of their values
        kwargs: arguments of the method, such as `amount`
    """
    if importance_scores is not None and not isinstance(importance_scores, Mapping):
        raise TypeError("global_unstructured(): importance_scores must be a mapping from (module, name) to tensors")
    targets, scores_by_target = list(parameters), importance_scores or {}
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f"global_unstructured() requires a method that prunes elements, but {pruning_method.__name__} prunes slices"
        )
    values = [getattr(module, name) for module, name in targets]
    default_masks = [getattr(m, f"{name}_mask", ones_like(v)) for (m, name), v in zip(targets, values, strict=True)]
    scores: list[Any] = [scores_by_target.get(target, value) for target, value in zip(targets, values, strict=True)]
    method._tensor_name = "all"
    container = PruningContainer(method)
    mask = container.compute_mask(parameters_to_vector(scores).detach(), parameters_to_vector(default_masks))
    for (module, name), part in zip(targets, mask.split([value.numel() for value in values]), strict=True):
        custom_from_mask(module, name, part.view_as(getattr(module, name)))


def remove(module: Module, name: str) -> Module:
    """Make pruning of a parameter permanent."""
    for method in _methods(module):
        if method._tensor_name == name:
            method.remove(module)
            _remove_hook(module, method)
            return module
    raise ValueError(f"{type(module).__name__} has no pruned parameter {name!r}")


def is_pruned(module: Module) -> bool:
    """Whether a parameter of the module or of a submodule is pruned."""
    return any(_methods(part) for part in module.modules())


# -- helpers -----------------------------------------------------------------------------------


def _methods(module: Module) -> list[BasePruningMethod]:
    return [hook for hook in module._forward_pre_hooks.values() if isinstance(hook, BasePruningMethod)]


def _remove_hook(module: Module, method: BasePruningMethod) -> None:
    """Remove the hook of the method."""
    hooks = module._hooks
    assert hooks is not None
    for key in [key for key, hook in hooks.forward_pre.items() if hook.function is method]:
        del hooks.forward_pre[key]


def _combine(existing: BasePruningMethod, method: BasePruningMethod) -> PruningContainer:
    container = existing if isinstance(existing, PruningContainer) else PruningContainer(existing)
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
