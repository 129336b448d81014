"""L-BFGS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from engine.modes import enable_grad, no_grad, note_items
from engine.ops.movement.primitives import cat
from engine.optim.line_search import LineSearchPoint, strong_wolfe
from engine.optim.optimizer import Group, LearningRate, Optimizer, Parameters, State, hyperparameters
from engine.registry import OPTIMIZERS, NonNegative, Range, Size
from engine.tensors import Tensor
from engine.tensors.creation import zeros_like


@OPTIMIZERS.register(category="Second order", title="L-BFGS", tags=("newton", "quasi-newton", "line search"))
class LBFGS(Optimizer):
    """Limited-memory BFGS, a quasi-Newton method. In scripts, `step` requires a closure that computes the loss.

    Suited to full-batch gradients, not to mini-batches. Supports one parameter group. Source: Nocedal and Wright,
    Numerical Optimization, chapter 7.

    Args:
        lr: learning rate, as a factor of the Newton step
        max_iter: maximum number of iterations per step
        max_eval: maximum number of loss evaluations per step (default: 1.25 × `max_iter`)
        tolerance_grad: termination tolerance on the largest component of the gradient
        tolerance_change: termination tolerance on changes of loss and parameters
        history_size: number of past updates that are stored
        line_search_fn: line search along each direction: "strong_wolfe", or none for a fixed step
    """

    needs_closure = True
    scalar_state = frozenset()

    def __init__(
        self,
        params: Parameters,
        lr: LearningRate = 1,
        max_iter: Annotated[int, Range(ge=1, le=1_000_000)] = 20,
        max_eval: Size | None = None,
        tolerance_grad: NonNegative = 1e-7,
        tolerance_change: NonNegative = 1e-9,
        history_size: Size = 100,
        line_search_fn: Literal["strong_wolfe"] | None = None,
    ) -> None:
        max_eval = max_iter * 5 // 4 if max_eval is None else max_eval
        super().__init__(params, hyperparameters(locals()))
        if len(self.param_groups) != 1:
            raise ValueError(f"LBFGS supports one parameter group, not {len(self.param_groups)}. Pass one list.")

    def initial_state(self, param: Tensor, group: Group) -> State:
        return {"func_evals": 0, "n_iter": 0}

    def required_state(self, state: State, param: Tensor, group: Group) -> State:
        point = super().required_state(state, param, group)
        if state.get("n_iter"):
            flat = param.new_zeros(0)
            point |= {
                "d": flat,
                "t": 0.0,
                "old_dirs": [],
                "old_stps": [],
                "ro": [],
                "H_diag": 0.0,
                "prev_flat_grad": flat,
            }
        return point

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Run up to `max_iter` iterations; `closure` clears and recomputes the gradients and returns the loss."""
        if closure is None:
            raise TypeError("LBFGS evaluates the loss several times per step. Pass a closure to step().")
        with no_grad():
            return self._minimize(enable_grad()(closure))

    def _minimize(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        state = self.state[group["params"][0]]
        if not state:
            note_items(state)
            state |= self.initial_state(group["params"][0], group)
        first_loss = closure()
        note_items(state)
        state["func_evals"] += 1
        gradient = self._flat_gradient()
        if _largest(gradient) <= group["tolerance_grad"]:
            return first_loss
        loss, evaluations = float(first_loss), 1
        for iteration in range(1, group["max_iter"] + 1):
            new_state = {**state, "n_iter": state["n_iter"] + 1}
            direction = _direction(new_state, gradient, group["history_size"])
            start = LineSearchPoint(0.0, loss, gradient, _dot(gradient, direction))
            step = _first_step(new_state, gradient, float(group["lr"]))
            new_state |= {"d": direction, "t": step, "prev_flat_grad": gradient, "prev_loss": loss}
            note_items(state)
            state.update(new_state)  # in one update, so that an interrupted step leaves a consistent state
            if start.slope > -group["tolerance_change"]:
                break
            last = iteration == group["max_iter"]
            limit = group["max_eval"] - evaluations
            point, count = self._advance(closure, start, direction, state["t"], limit, evaluate=not last)
            note_items(state)
            state["t"], loss, gradient = point.step, point.loss, point.gradient
            evaluations += count
            state["func_evals"] += count
            if (
                last
                or evaluations >= group["max_eval"]
                or _largest(gradient) <= group["tolerance_grad"]
                or _largest(direction * point.step) <= group["tolerance_change"]
                or abs(loss - start.loss) < group["tolerance_change"]
            ):
                break
        return first_loss

    def _advance(
        self,
        closure: Callable[[], Any],
        start: LineSearchPoint,
        direction: Tensor,
        step: float,
        limit: int,
        *,
        evaluate: bool,
    ) -> tuple[LineSearchPoint, int]:
        """Move the parameters along `direction`. Returns the point reached and the number of closure calls."""
        group = self.param_groups[0]
        if group["line_search_fn"] is None:
            self._move(direction, step)
            if not evaluate:
                return LineSearchPoint(step, start.loss, start.gradient, start.slope), 0
            loss = float(closure())
            gradient = self._flat_gradient()
            return LineSearchPoint(step, loss, gradient, _dot(gradient, direction)), 1
        start_values = [param.detach().clone() for param in group["params"]]

        def evaluate_at(step: float) -> LineSearchPoint:
            self._move(direction, step)
            loss = float(closure())
            gradient = self._flat_gradient()
            for param, value in zip(group["params"], start_values, strict=True):
                param.copy_(value)
            return LineSearchPoint(step, loss, gradient, _dot(gradient, direction))

        point, count = strong_wolfe(evaluate_at, start, step, _largest(direction), limit=limit)
        self._move(direction, point.step)
        return point, count

    def _flat_gradient(self) -> Tensor:
        params = self.param_groups[0]["params"]
        return cat([(zeros_like(param) if param.grad is None else param.grad).reshape(-1) for param in params])

    def _move(self, direction: Tensor, step: float) -> None:
        start = 0
        for param in self.param_groups[0]["params"]:
            end = start + param.numel()
            param.add_(direction[start:end].reshape(param.shape), alpha=step)
            start = end


def _first_step(state: State, gradient: Tensor, lr: float) -> float:
    return min(1.0, 1 / float(gradient.abs().sum())) * lr if state["n_iter"] == 1 else lr


def _direction(state: State, gradient: Tensor, history_size: int) -> Tensor:
    """Negative gradient times the estimated inverse Hessian, by the two-loop recursion.

    Assigns new lists to `state` and leaves the existing lists unchanged.
    """
    if state["n_iter"] == 1:
        state |= {"old_dirs": [], "old_stps": [], "ro": [], "H_diag": 1.0}
        return -gradient
    changes, steps, inverse_curvatures = state["old_dirs"], state["old_stps"], state["ro"]
    change, step = gradient - state["prev_flat_grad"], state["d"] * float(state["t"])
    curvature = _dot(change, step)
    if curvature > 1e-10:
        added = {"old_dirs": change, "old_stps": step, "ro": 1 / curvature}
        state |= {name: [*state[name], new][-history_size:] for name, new in added.items()}
        state["H_diag"] = curvature / _dot(change, change)
        changes, steps, inverse_curvatures = state["old_dirs"], state["old_stps"], state["ro"]
    direction, coefficients = -gradient, []
    for change, step, inverse_curvature in zip(
        reversed(changes), reversed(steps), reversed(inverse_curvatures), strict=True
    ):
        coefficients.append(_dot(step, direction) * float(inverse_curvature))
        direction.add_(change, alpha=-coefficients[-1])
    direction.mul_(float(state["H_diag"]))
    for change, step, inverse_curvature, coefficient in zip(
        changes, steps, inverse_curvatures, reversed(coefficients), strict=True
    ):
        direction.add_(step, alpha=coefficient - _dot(change, direction) * float(inverse_curvature))
    return direction


def _dot(a: Tensor, b: Tensor) -> float:
    return float((a * b).sum())


def _largest(vector: Tensor) -> float:
    return float(vector.abs().max())
