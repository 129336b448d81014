"""torch.functional: functions of `engine` that PyTorch writes in Python."""

from engine.functions import *  # noqa: F403  (the op registry is the list)
from engine.torch_compat.shortcuts import *  # noqa: F403
