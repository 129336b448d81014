"""Function transforms, as in `torch.func`: derivatives, batching, and modules as functions of their parameters."""

from engine.func.derivatives import grad as grad
from engine.func.derivatives import grad_and_value as grad_and_value
from engine.func.derivatives import hessian as hessian
from engine.func.derivatives import jacfwd as jacfwd
from engine.func.derivatives import jacrev as jacrev
from engine.func.derivatives import jvp as jvp
from engine.func.derivatives import linearize as linearize
from engine.func.derivatives import vjp as vjp
from engine.func.modules import functional_call as functional_call
from engine.func.modules import replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_
from engine.func.modules import stack_module_state as stack_module_state
from engine.func.rearrange import rearrange as rearrange
from engine.func.vmap import vmap as vmap

__all__ = [
    "functional_call",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "rearrange",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]
