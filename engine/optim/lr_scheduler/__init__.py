"""Learning-rate schedulers."""

from engine.optim.lr_scheduler.composed import ChainedScheduler as ChainedScheduler
from engine.optim.lr_scheduler.composed import SequentialLR as SequentialLR
from engine.optim.lr_scheduler.cosine_annealing_lr import CosineAnnealingLR as CosineAnnealingLR
from engine.optim.lr_scheduler.cosine_annealing_lr import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from engine.optim.lr_scheduler.cyclic_lr import CyclicLR as CyclicLR
from engine.optim.lr_scheduler.exponential_lr import ExponentialLR as ExponentialLR
from engine.optim.lr_scheduler.lambda_lr import LambdaLR as LambdaLR
from engine.optim.lr_scheduler.lambda_lr import MultiplicativeLR as MultiplicativeLR
from engine.optim.lr_scheduler.linear_lr import ConstantLR as ConstantLR
from engine.optim.lr_scheduler.linear_lr import LinearLR as LinearLR
from engine.optim.lr_scheduler.one_cycle_lr import OneCycleLR as OneCycleLR
from engine.optim.lr_scheduler.polynomial_lr import PolynomialLR as PolynomialLR
from engine.optim.lr_scheduler.reduce_lr_on_plateau import ReduceLROnPlateau as ReduceLROnPlateau
from engine.optim.lr_scheduler.scheduler import LRScheduler as LRScheduler
from engine.optim.lr_scheduler.step_lr import MultiStepLR as MultiStepLR
from engine.optim.lr_scheduler.step_lr import StepLR as StepLR

_LRScheduler = LRScheduler

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
