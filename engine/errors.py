"""The engine's exceptions. Messages say where the error is, the values, and what to do."""

from __future__ import annotations


class EngineError(Exception):
    """Base of all engine errors.

    Args:
        text: where the error is, the values, and what to do
        in_code: the remedy in Python code, a sentence after the text
        location: file and line of the call that caused it, if they are not in the traceback
    """

    def __init__(self, text: object = "", *, in_code: str = "", location: tuple[str, int] | None = None) -> None:
        super().__init__(f"{text} {in_code}" if in_code else text)
        self.text = str(text)
        self.in_code = in_code
        self.location = location


def locate_error(error: BaseException, location: tuple[str, int] | None) -> None:
    """Note file and line of the call that caused an error of the engine, unless they are known."""
    if isinstance(error, EngineError) and error.location is None:
        error.location = location


class ShapeError(EngineError, ValueError, RuntimeError):
    """Shapes that do not fit an op. Also a RuntimeError, as in PyTorch."""


class IndexRangeError(ShapeError, IndexError):
    """An index or dimension that is out of range. Also an IndexError, as in PyTorch."""


class DTypeError(EngineError, TypeError, RuntimeError):
    """A dtype that an op does not support."""


class RangeError(EngineError, ValueError, RuntimeError):
    """A number that is out of range for a function. Also a RuntimeError, as in PyTorch."""


class IndexTypeError(DTypeError, IndexError):
    """An index of the wrong type, such as a floating-point tensor. Also an IndexError, as in PyTorch."""


class ArrayError(EngineError, ValueError):
    """An array or buffer whose memory a tensor cannot share."""


class DeviceError(EngineError, RuntimeError):
    """An unknown or unavailable device, or tensors of different devices in one op."""


class OutOfMemoryError(EngineError, MemoryError, RuntimeError):
    """There is not enough memory on a device. Also a RuntimeError, as in PyTorch."""


class HostError(DeviceError, TypeError):
    """A tensor that is not in main memory was converted to NumPy. Also a TypeError, as in PyTorch."""


class LinAlgError(EngineError, RuntimeError):
    """A matrix without a solution: singular, not positive definite, or the algorithm did not converge."""


class AutogradError(EngineError, RuntimeError):
    """A backward pass that cannot be run."""


class StaleTensorError(AutogradError):
    """A tensor saved for the backward pass was changed in place."""


class GradcheckError(AutogradError):
    """A gradient differs from finite differences."""


class CheckpointError(AutogradError):
    """A checkpointed function behaved differently when it was run again."""


class SharingError(EngineError, BufferError, RuntimeError):
    """Memory that cannot be shared with another library or process."""


class DataError(EngineError, ValueError):
    """A data file that cannot be read. Names the file, the location in it, and the remedy."""


class EngineWarning(UserWarning):
    """A likely mistake. `in_code` is the remedy in Python code, as in `EngineError`."""

    def __init__(self, text: object = "", *, in_code: str = "") -> None:
        super().__init__(f"{text} {in_code}" if in_code else text)
        self.text = str(text)
        self.in_code = in_code


class DataWarning(UserWarning):
    """Samples that cannot be read and are skipped."""


class WeightsError(EngineError, RuntimeError):
    """A state dict or weights file that does not fit the module."""


class RegistryError(EngineError, ValueError):
    """Two declarations of one name, or an undeclared name."""


class CompileError(EngineError, RuntimeError):
    """Code that cannot be compiled, or a graph break with `fullgraph=True`."""
