"""Adam with decoupled weight decay."""

from __future__ import annotations

from engine.optim.adam import Adam
from engine.optim.optimizer import DecayRate, KernelFlag, LearningRate, Parameters, hyperparameters
from engine.registry import OPTIMIZERS, NonNegative


@OPTIMIZERS.register(category="Adaptive", tags=("adam", "decoupled weight decay"))
class AdamW(Adam):
    """Adam with decoupled weight decay: ``p ← (1 - lr weight_decay) p`` before each Adam step.

    The decay does not pass through the running averages. Source: Loshchilov and Hutter, arXiv 1711.05101.

    Args:
        lr: learning rate
        betas: decay rates of the running averages of the gradient and of its square
        eps: term added to the denominator for numerical stability
        weight_decay: weight decay coefficient; each step multiplies parameters by ``1 - lr weight_decay``
        amsgrad: divide by the largest running average of the square so far (AMSGrad)
        maximize: maximize the objective instead of minimizing it
    """

    def __init__(
        self,
        params: Parameters,
        lr: LearningRate = 1e-3,
        betas: tuple[DecayRate, DecayRate] = (0.9, 0.999),
        eps: NonNegative = 1e-8,
        weight_decay: NonNegative = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: KernelFlag = None,
        capturable: KernelFlag = False,
        differentiable: KernelFlag = False,
        fused: KernelFlag = None,
    ) -> None:
        super().__init__(params, **hyperparameters(locals()), decoupled_weight_decay=True)
