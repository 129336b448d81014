"""What changes parameters by their gradients, with PyTorch's names, arguments and arithmetic."""

from engine.optim import lr_scheduler as lr_scheduler
from engine.optim.adam import Adam as Adam
from engine.optim.adamw import AdamW as AdamW
from engine.optim.optimizer import Optimizer as Optimizer
from engine.optim.sgd import SGD as SGD

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]
