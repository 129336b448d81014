"""PyTorch's names for what the engine has elsewhere or does not have.

Modules of this package are imported by PyTorch's paths, `engine.jit` or `engine.backends.cudnn`: see `paths`.
"""

__all__: list[str] = []
