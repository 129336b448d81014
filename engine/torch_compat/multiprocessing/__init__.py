"""torch.multiprocessing: Python's multiprocessing, with `spawn`.

Tensors sent to another process arrive as copies. Tensors of `share_memory_()` are shared only with forked processes;
sending one to another process raises SharingError, as the copy would not see later writes.
"""

from __future__ import annotations

import multiprocessing
from multiprocessing import *  # noqa: F403  # pyright: ignore[reportWildcardImportFromLibrary]

from engine.nn.parameter import Parameter
from engine.tensors.sharing import refuse_copies
from engine.torch_compat.multiprocessing.processes import ProcessContext as ProcessContext
from engine.torch_compat.multiprocessing.processes import ProcessException as ProcessException
from engine.torch_compat.multiprocessing.processes import ProcessExitedException as ProcessExitedException
from engine.torch_compat.multiprocessing.processes import ProcessRaisedException as ProcessRaisedException
from engine.torch_compat.multiprocessing.processes import spawn as spawn
from engine.torch_compat.multiprocessing.processes import start_processes as start_processes
from engine.torch_compat.multiprocessing.sharing import get_all_sharing_strategies as get_all_sharing_strategies
from engine.torch_compat.multiprocessing.sharing import get_sharing_strategy as get_sharing_strategy
from engine.torch_compat.multiprocessing.sharing import set_sharing_strategy as set_sharing_strategy

refuse_copies(Parameter)

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]
__all__ += multiprocessing.__all__  # pyright: ignore[reportAttributeAccessIssue, reportUnsupportedDunderAll]
