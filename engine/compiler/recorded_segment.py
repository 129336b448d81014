"""A segment while it is traced: its inputs, its numbers, and its node in the trie."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol
from weakref import ref

from engine.compiler.array_memory import memory_owner
from engine.compiler.atomic_changes import Change
from engine.compiler.break_reasons import ITERATION, BreakReason, reason_of_frame
from engine.compiler.instruction import Constant, ExternalInput, Scalar, Slot, TraceNode, freeze
from engine.dtypes import NUMBERS
from engine.errors import EngineError
from engine.graph import SourceLocation
from engine.ops.record import Op
from engine.tensors import Tensor
from engine.tensors.deferred import Deferred, Form, adopt
from engine.tensors.dispatch.op_call import number

if TYPE_CHECKING:
    from engine.compiler.compile_report import SegmentStart


class SegmentRunner(Protocol):
    """The capture that traces a segment and runs it when a value is needed."""

    def demand(self, segment: RecordedSegment, *, requested: int) -> None:
        """Runs the segment so far, for the array in the `requested` slot."""
        ...


class RecordedSegment:
    """The ops since the last graph break.

    On a known path nothing is computed: results are `Deferred`. On a new path, ops run at once and are traced, so that
    shapes, strides, views and errors are those of eager mode; their results are `Deferred` with a value.
    """

    __slots__ = (
        "_capture",
        "_owners",
        "_storages",
        "count",
        "deferreds",
        "deferring",
        "elements",
        "externals",
        "input_specs",
        "is_over",
        "node",
        "origins",
        "owners",
        "plan",
        "scalars",
        "seconds",
        "slots",
        "start",
        "tensors",
        "versions",
    )  # fmt: skip

    def __init__(self, capture: SegmentRunner, root: TraceNode, start: SegmentStart) -> None:
        self._capture: SegmentRunner | None = capture
        """None once the segment has ended."""
        self.start = start
        """The trace before it, and the line of the break."""
        self.elements: set[int] = set()
        """Slots of elements from an iteration over a tensor."""
        self.origins: list[tuple[SourceLocation, bool]] = []
        """For each op its line, and whether it belongs to a backward pass; only if requested."""
        self.plan: Any = None
        """The plan that ran it, if its path was known."""
        self.seconds = 0.0
        """Duration of the plan."""
        self.is_over = False
        """Whether all arrays in use are computed and all writes are applied."""
        self.node = root
        self.deferring = True
        """Whether the path is known so far."""
        self.count = 0
        """Number of slots so far."""
        self.scalars: list[Any] = []
        """Numbers that vary between calls."""
        self.externals: dict[int, Any] = {}
        """Slot → input array."""
        self.tensors: dict[int, Any] = {}
        """Slot → tensor with that array."""
        self.versions: dict[int, int] = {}
        """Slot → version of the tensor's storage at its first use."""
        self.owners: list[list[Any]] = []
        """For each computed array the tensors that hold it; only if requested."""
        self.input_specs: list[ExternalInput] = []
        self.slots: dict[int, int] = {}
        """Id of an input array → its slot."""
        self._storages: dict[int, tuple[Any, int]] = {}
        """Id of an input storage → the storage, kept so that the id stays valid, and its first slot."""
        self._owners: dict[int, int] = {}
        """Id of the owner of an input's memory → its first slot, since storages may share memory."""
        self.deferreds: list[ref[Deferred]] = []

    def parts(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any]) -> tuple[list[Any], Any]:
        """The parts of a key for the inputs and static arguments of an op. Raises UnhashableArgument."""
        scalars, part = self.scalars, self.part
        found = [
            part(v)
            if isinstance(v, Tensor)
            else freeze(v if type(v) in NUMBERS and op.takes_numbers else number(op, v), scalars)
            for v in inputs
        ]
        return found, None if statics is op.defaults else freeze(statics, scalars)

    def part(self, tensor: Any) -> Any:
        """The part of a key for a tensor: its slot, or its layout at the first use."""
        array = tensor._array
        if type(array) is Deferred:
            if array.segment is self:
                return array.slot
            array = tensor._array = array.real()  # of an earlier segment
        if tensor._storage.is_exposed:
            return self._add_input(array.copy(), tensor)  # other libraries may change it later
        slot = self.slots.get(id(array))
        return self._add_input(array, tensor) if slot is None else slot

    def _add_input(self, array: Any, tensor: Any) -> Any:
        slot, storage = self.count, tensor._storage
        self.tensors[slot], self.versions[slot] = tensor, storage.version
        self.count += 1
        self.externals[slot] = array
        self.slots[id(array)] = slot
        first = self._storages.setdefault(id(storage), (storage, slot))[1]
        first = min(first, self._owners.setdefault(id(memory_owner(array)), slot))
        shares_with = None if first == slot else first
        self.input_specs.append(ExternalInput(slot, Form.of(array), storage.device, shares_with))
        return array.shape, array.dtype, array.strides, storage.device, shares_with

    def forget(self, scalars: int, inputs: int) -> None:
        """Removes numbers and inputs of an op that failed."""
        for external in self.input_specs[inputs:]:
            del self.externals[external.slot]
            self.slots = {key: slot for key, slot in self.slots.items() if slot != external.slot}
            self._storages = {key: found for key, found in self._storages.items() if found[1] != external.slot}
            self._owners = {key: slot for key, slot in self._owners.items() if slot != external.slot}
            del self.tensors[external.slot], self.versions[external.slot]
        self.count -= len(self.input_specs) - inputs
        del self.input_specs[inputs:], self.scalars[scalars:]

    def uses(self, tensor: Any) -> bool:
        """Whether a traced op uses the memory of an input tensor."""
        return id(tensor._storage) in self._storages or id(memory_owner(self.array(tensor))) in self._owners

    def slot_of(self, tensor: Any) -> int | None:
        """The slot of an input tensor, if a traced op uses it."""
        return self.slots.get(id(tensor._array))

    def operands(
        self, values: Sequence[Any], parts: Sequence[Any], scalar: int, new_inputs: Sequence[ExternalInput]
    ) -> tuple[Slot | Scalar | Constant, ...]:
        """The operands of an instruction.

        Args:
            scalar: index of its first number
            new_inputs: inputs of the segment that it is the first to use
        """
        found: list[Slot | Scalar | Constant] = []
        new = iter(new_inputs)
        for value, part in zip(values, parts, strict=True):
            if hasattr(value, "_storage"):
                found.append(Slot(part if isinstance(part, int) else next(new).slot))
            elif isinstance(part, str):
                found.append(Scalar(scalar))
                scalar += 1
            else:
                found.append(Constant(value))
        return tuple(found)

    def array(self, tensor: Any) -> Any:
        """The array of a tensor that is computed or an input."""
        array = tensor._array
        return array.value if type(array) is Deferred else array

    def hand_out(self, tensor: Any, slot: int, form: Form, value: Any = None) -> None:
        """Gives a tensor a `Deferred` for the array in `slot`."""
        deferred = Deferred(self, slot, form, value, [ref(tensor)])
        self.deferreds.append(ref(deferred))
        tensor._array = deferred  # last, so that an interruption finds all that must be undone

    def reason(self, requested: int | str | None) -> BreakReason:
        """The reason why the values of a slot are needed."""
        return ITERATION if requested in self.elements else reason_of_frame()

    # -- the end

    def live_arrays(self, *, computed: bool = False) -> list[Deferred]:
        """Arrays in use that are not computed; with `computed`, all arrays in use."""
        live = [deferred for reference in self.deferreds if (deferred := reference()) is not None]
        self.deferreds = list(map(ref, live))
        return live if computed else [deferred for deferred in live if deferred.value is None]

    def pending(self) -> list[Deferred]:
        """The arrays in use that must be computed."""
        pending: list[Deferred] = []
        for deferred in self.live_arrays(computed=not self.deferring):
            array = self.externals.get(deferred.slot)
            if array is None:
                pending.append(deferred)
            else:  # an input that was written to
                deferred.value = array
        return pending

    def release(self) -> None:
        """Releases the trace. Arrays without value keep the reason."""
        for reference in self.deferreds:
            deferred = reference()
            if deferred is not None and deferred.value is not None:
                deferred.segment = None
                deferred.settle()
        self.deferreds.clear()
        self._capture = None

    def failure_changes(self, error: BaseException) -> list[Change]:
        """Changes that end the segment after an error: tensors get back the arrays that were to be written.

        Access to other arrays of the segment raises an error with the cause.
        """
        failed = FailedSegment(error)
        found: list[Change] = [(setattr, self, "is_over", True)]
        for deferred in self.live_arrays():
            array = self.externals.get(deferred.slot)
            if array is None:
                found.append((setattr, deferred, "segment", failed))
            else:
                owners = [tensor for owner in deferred.owners if (tensor := owner()) is not None]
                found += [(setattr, tensor, "_array", array) for tensor in owners if tensor._array is deferred]
                found.append((setattr, deferred, "value", array))
        return found

    # -- requests of deferred arrays

    def demand(self, slot: int) -> None:
        if self.is_over:  # an exception interrupted settle()
            return
        assert self._capture is not None, "the segment has ended"
        self._capture.demand(self, requested=slot)


def adopt_saved_tensors(outs: Sequence[Tensor]) -> None:
    """Tracks the results that an autograd node saved, so that they are computed, too."""
    node = outs[0]._node
    for key, (tensor, version) in getattr(node, "saved", {}).items():
        if key < 0 and version is not None:
            adopt(tensor)


class FailedSegment:
    """Replaces a segment that an error ended."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def demand(self, slot: int) -> None:
        cause = "an earlier op failed" if isinstance(self.error, Exception) else "the compiled call was interrupted"
        raise EngineError(
            f"This tensor was never computed, because {cause} ({type(self.error).__name__}: {self.error}). "
            "Compute it again."
        )
