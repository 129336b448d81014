"""Adam with decoupled weight decay."""

from __future__ import annotations

from engine.optim.adam import Adam
from engine.optim.optimizer import DecayRate, KernelFlag, LearningRate, Parameters
from engine.registry import OPTIMIZERS, NonNegative


@OPTIMIZERS.register(category="Adaptive", tags=("adam", "decoupled weight decay"))
class AdamW(Adam):
    """Adam whose weight decay does not pass through the moments: ``p ← (1 - lr weight_decay) p`` before each step.

    Source: Loshchilov and Hutter, arXiv 1711.05101.

    Args:
        lr: learning rate, about the size of the steps
        betas: how much of the running mean, and of the running square, stays with each step
        eps: added to the divisor, so that nothing is divided by 0
        weight_decay: strength of the pull towards 0
        amsgrad: divide by the largest running square so far
        maximize: climb instead of descend
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
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
