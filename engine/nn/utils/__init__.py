"""Utilities for modules and gradients: clipping, weight norms, parametrizations, pruning, fusion, sequences."""

from engine.nn.layers.carried_state import carried_states as carried_states
from engine.nn.layers.carried_state import reset_states as reset_states
from engine.nn.utils import parametrizations as parametrizations
from engine.nn.utils import parametrize as parametrize
from engine.nn.utils import prune as prune
from engine.nn.utils import rnn as rnn
from engine.nn.utils.clip_grad import clip_grad_norm as clip_grad_norm
from engine.nn.utils.clip_grad import clip_grad_norm_ as clip_grad_norm_
from engine.nn.utils.clip_grad import clip_grad_value_ as clip_grad_value_
from engine.nn.utils.clip_grad import clip_grads_with_norm_ as clip_grads_with_norm_
from engine.nn.utils.clip_grad import get_total_norm as get_total_norm
from engine.nn.utils.convert_parameters import parameters_to_vector as parameters_to_vector
from engine.nn.utils.convert_parameters import vector_to_parameters as vector_to_parameters
from engine.nn.utils.fusion import fuse_conv_bn_eval as fuse_conv_bn_eval
from engine.nn.utils.fusion import fuse_conv_bn_weights as fuse_conv_bn_weights
from engine.nn.utils.fusion import fuse_linear_bn_eval as fuse_linear_bn_eval
from engine.nn.utils.fusion import fuse_linear_bn_weights as fuse_linear_bn_weights
from engine.nn.utils.skip_init import skip_init as skip_init
from engine.nn.utils.weight_norm_hooks import remove_spectral_norm as remove_spectral_norm
from engine.nn.utils.weight_norm_hooks import remove_weight_norm as remove_weight_norm
from engine.nn.utils.weight_norm_hooks import spectral_norm as spectral_norm
from engine.nn.utils.weight_norm_hooks import weight_norm as weight_norm

__all__ = [
    "carried_states",
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "prune",
    "remove_spectral_norm",
    "remove_weight_norm",
    "reset_states",
    "rnn",
    "skip_init",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]
