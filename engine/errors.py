"""Every error that the engine raises on purpose. Each says where, what was found, and what to do."""

from __future__ import annotations


class EngineError(Exception):
    """Base of all engine errors.

    Args:
        text: where it went wrong, what was found, and what to do
        in_code: what to do where that is Python, as a sentence behind the text
        place: file and line of the call that it is about, if that is not in the traceback
    """

    def __init__(self, text: object = "", *, in_code: str = "", place: tuple[str, int] | None = None) -> None:
        super().__init__(f"{text} {in_code}" if in_code else text)
        self.text = str(text)
        self.in_code = in_code
        self.place = place


class ShapeError(EngineError, ValueError, RuntimeError):
    """Shapes that do not fit an op. Also a RuntimeError, as PyTorch's is."""


class PositionError(ShapeError, IndexError):
    """A place or a dimension that a tensor does not have. Also an IndexError, as PyTorch's is."""


class DTypeError(EngineError, TypeError, RuntimeError):
    """A dtype that an op does not take."""


class RangeError(EngineError, ValueError, RuntimeError):
    """A number that is outside of what a function takes. Also a RuntimeError, as PyTorch's is."""


class IndexTypeError(DTypeError, IndexError):
    """Something that cannot be an index, such as a tensor of fractions. Also an IndexError, as PyTorch's is."""


class ArrayError(EngineError, ValueError):
    """An array or buffer whose memory a tensor cannot share."""


class DeviceError(EngineError, RuntimeError):
    """An unknown or unavailable device, or tensors of different devices in one op."""


class OutOfMemoryError(EngineError, MemoryError, RuntimeError):
    """There is not enough memory on a device. Also a RuntimeError, as PyTorch's is."""


class HostError(DeviceError, TypeError):
    """NumPy asked for a tensor that is not in main memory. Also a TypeError, as PyTorch's is."""


class LinAlgError(EngineError, RuntimeError):
    """A matrix for which there is no answer: singular, not positive definite, or without convergence."""


class AutogradError(EngineError, RuntimeError):
    """A backward pass that cannot be run."""


class StaleTensorError(AutogradError):
    """A tensor that a gradient needs was changed in place after it had been saved."""


class GradcheckError(AutogradError):
    """A gradient that finite differences contradict."""


class CheckpointError(AutogradError):
    """A checkpointed function that did something else when it was run again."""


class SharingError(EngineError, BufferError, RuntimeError):
    """Memory that another library cannot take as it is."""


class DataError(EngineError, ValueError):
    """A data file that cannot be read: names the file, the place in it and the remedy."""


class EngineWarning(UserWarning):
    """What is likely to be a mistake. Takes `in_code` as errors do."""

    def __init__(self, text: object = "", *, in_code: str = "") -> None:
        super().__init__(f"{text} {in_code}" if in_code else text)
        self.text = str(text)
        self.in_code = in_code


class DataWarning(UserWarning):
    """Samples that cannot be read and are done without."""


class WeightsError(EngineError, RuntimeError):
    """A state dict or weights file that does not fit the module."""


class RegistryError(EngineError, ValueError):
    """Two declarations with one name, or a name that nobody declared."""


class CompileError(EngineError, RuntimeError):
    """Something that cannot be compiled, or a graph break where none is allowed."""
