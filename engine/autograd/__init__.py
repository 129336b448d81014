"""Automatic differentiation with PyTorch's interface: gradients, custom functions, gradient checks, graphs."""

from engine.autograd import forward_ad as forward_ad
from engine.autograd import functional as functional
from engine.autograd import graph as graph
from engine.autograd.anomaly import detect_anomaly as detect_anomaly
from engine.autograd.anomaly import set_detect_anomaly as set_detect_anomaly
from engine.autograd.function import Function as Function
from engine.autograd.gradient_checks import gradcheck as gradcheck
from engine.autograd.gradient_checks import gradgradcheck as gradgradcheck
from engine.autograd.inference import inference_mode as inference_mode
from engine.autograd.variable import Variable as Variable
from engine.graph import backward as backward
from engine.graph import grad as grad
from engine.modes import enable_grad as enable_grad
from engine.modes import no_grad as no_grad
from engine.modes import set_grad_enabled as set_grad_enabled

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]
