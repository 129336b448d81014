"""Automatic mixed precision: autocast and gradient scaling."""

from engine.amp import cuda as cuda
from engine.amp.autocast import autocast as autocast
from engine.amp.autocast import clear_autocast_cache as clear_autocast_cache
from engine.amp.autocast import get_autocast_dtype as get_autocast_dtype
from engine.amp.autocast import is_autocast_available as is_autocast_available
from engine.amp.autocast import is_autocast_cache_enabled as is_autocast_cache_enabled
from engine.amp.autocast import is_autocast_enabled as is_autocast_enabled
from engine.amp.custom_functions import custom_bwd as custom_bwd
from engine.amp.custom_functions import custom_fwd as custom_fwd
from engine.amp.grad_scaler import GradScaler as GradScaler

__all__ = [
    "GradScaler",
    "autocast",
    "clear_autocast_cache",
    "cuda",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_cache_enabled",
    "is_autocast_enabled",
]
