"""Optimizers and learning-rate schedulers, with PyTorch's names, arguments and arithmetic."""

from engine.optim import lr_scheduler as lr_scheduler
from engine.optim import swa_utils as swa_utils
from engine.optim.adadelta import Adadelta as Adadelta
from engine.optim.adafactor import Adafactor as Adafactor
from engine.optim.adagrad import Adagrad as Adagrad
from engine.optim.adam import Adam as Adam
from engine.optim.adamax import Adamax as Adamax
from engine.optim.adamw import AdamW as AdamW
from engine.optim.asgd import ASGD as ASGD
from engine.optim.lbfgs import LBFGS as LBFGS
from engine.optim.muon import Muon as Muon
from engine.optim.nadam import NAdam as NAdam
from engine.optim.optimizer import Optimizer as Optimizer
from engine.optim.radam import RAdam as RAdam
from engine.optim.rmsprop import RMSprop as RMSprop
from engine.optim.rprop import Rprop as Rprop
from engine.optim.sgd import SGD as SGD

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
    "swa_utils",
]
