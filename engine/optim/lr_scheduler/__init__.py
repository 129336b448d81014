"""Learning rates that change while training goes on."""

from engine.optim.lr_scheduler.cosine_annealing_lr import CosineAnnealingLR as CosineAnnealingLR
from engine.optim.lr_scheduler.lambda_lr import LambdaLR as LambdaLR
from engine.optim.lr_scheduler.scheduler import LRScheduler as LRScheduler
from engine.optim.lr_scheduler.step_lr import StepLR as StepLR

__all__ = ["CosineAnnealingLR", "LRScheduler", "LambdaLR", "StepLR"]
