"""The deep-learning library beneath Gradwire: PyTorch's concepts and names on NumPy and CuPy.

`import engine` loads neither NumPy nor the modules below: each name imports its module when it is first used. Type
checkers read `__init__.pyi`, which scripts/stubs.py writes from the tables of `engine.exports`.
"""

import os

from engine import exports, lazy
from engine.system import environment
from engine.torch_compat import left_out, paths

os.environ.update(environment.missing_settings())  # before NumPy is imported
paths.install()

__getattr__, __dir__ = lazy.attach(
    __name__, exports.NAMES, exports.COLLECTIONS, exports.MODULES, lambda name: left_out.explanation(__name__, name)
)
