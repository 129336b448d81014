"""A recording under way: the arrays and numbers that it has met, and how far it has come on a known path."""

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
from engine.graph import Place
from engine.ops.record import Op
from engine.tensors import Tensor
from engine.tensors.deferred import Deferred, Form, adopt
from engine.tensors.dispatch.op_call import number

if TYPE_CHECKING:
    from engine.compiler.compile_report import SegmentStart


class SegmentRunner(Protocol):
    """The capture that records a segment and runs it when a value is needed."""

    def demand(self, segment: RecordedSegment, *, asked: int) -> None:
        """Runs what is recorded so far, for the array in slot `asked`."""
        ...


class RecordedSegment:
    """What was recorded since the last break.

    On a known path nothing is computed: results are `Deferred`. Where the path is new, ops run at once and are recorded
    as they run, so that shapes, strides, views and errors are those of eager mode; their results are `Deferred` too,
    with their array already in them, so that later calls find the slot.
    """

    __slots__ = (
        "_capture",
        "_owners",
        "_storages",
        "count",
        "deferring",
        "elements",
        "externals",
        "is_over",
        "made",
        "met",
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
        """None once it is over."""
        self.start = start
        """Where it begins: after which recording, and at which line."""
        self.elements: set[int] = set()
        """Slots of elements that somebody got by going through a tensor."""
        self.origins: list[tuple[Place, bool]] = []
        """For each call its line, and whether it belongs to a backward pass; only where somebody wants to know."""
        self.plan: Any = None
        """By what it was run, where its path was known."""
        self.seconds = 0.0
        """That the plan took."""
        self.is_over = False
        """All that somebody holds is computed, and all that was to be written is."""
        self.node = root
        self.deferring = True
        """Whether the path is known so far."""
        self.count = 0
        """Slots given so far."""
        self.scalars: list[Any] = []
        """The numbers that may be others each time."""
        self.externals: dict[int, Any] = {}
        """Slot → array that was found outside."""
        self.tensors: dict[int, Any] = {}
        """Slot → tensor that the array was found in, for those who ask where that is kept."""
        self.versions: dict[int, int] = {}
        """Slot → how often its memory had been written to when it was found."""
        self.owners: list[list[Any]] = []
        """For each array that was computed the tensors that hold it; only where somebody wants to know."""
        self.met: list[ExternalInput] = []
        self.slots: dict[int, int] = {}
        """Id of an array that was found outside → its slot."""
        self._storages: dict[int, tuple[Any, int]] = {}
        """Id of a storage found outside → the storage, kept so that the id stays its own, and the first slot in it."""
        self._owners: dict[int, int] = {}
        """Id of what owns the memory of an array from outside → the first slot in it: storages may share it."""
        self.made: list[ref[Deferred]] = []

    def parts(self, op: Op, inputs: Sequence[Any], statics: dict[str, Any]) -> tuple[list[Any], Any]:
        """The inputs and static arguments of a call as parts of its key. Raises Unhashable."""
        scalars, part = self.scalars, self.part
        found = [
            part(v)
            if isinstance(v, Tensor)
            else freeze(v if type(v) in NUMBERS and op.takes_numbers else number(op, v), scalars)
            for v in inputs
        ]
        return found, None if statics is op.defaults else freeze(statics, scalars)

    def part(self, tensor: Any) -> Any:
        """What stands for a tensor in the key of a call: its slot, or how it looks when it is met first."""
        array = tensor._array
        if type(array) is Deferred:
            if array.segment is self:
                return array.slot
            array = tensor._array = array.real()  # of an earlier recording
        if tensor._storage.is_exposed:
            return self._meet(array.copy(), tensor)  # as it is now
        slot = self.slots.get(id(array))
        return self._meet(array, tensor) if slot is None else slot

    def _meet(self, array: Any, tensor: Any) -> Any:
        slot, storage = self.count, tensor._storage
        self.tensors[slot], self.versions[slot] = tensor, storage.version
        self.count += 1
        self.externals[slot] = array
        self.slots[id(array)] = slot
        first = self._storages.setdefault(id(storage), (storage, slot))[1]
        first = min(first, self._owners.setdefault(id(memory_owner(array)), slot))
        shares_with = None if first == slot else first
        self.met.append(ExternalInput(slot, Form.of(array), storage.device, shares_with))
        return array.shape, array.dtype, array.strides, storage.device, shares_with

    def forget(self, scalars: int, met: int) -> None:
        """Goes back to so many numbers and arrays met: a call failed, so that it is no part of the recording."""
        for external in self.met[met:]:
            del self.externals[external.slot]
            self.slots = {key: slot for key, slot in self.slots.items() if slot != external.slot}
            self._storages = {key: found for key, found in self._storages.items() if found[1] != external.slot}
            self._owners = {key: slot for key, slot in self._owners.items() if slot != external.slot}
            del self.tensors[external.slot], self.versions[external.slot]
        self.count -= len(self.met) - met
        del self.met[met:], self.scalars[scalars:]

    def uses(self, tensor: Any) -> bool:
        """Whether a recorded call uses the memory of a tensor from outside."""
        return id(tensor._storage) in self._storages or id(memory_owner(self.array(tensor))) in self._owners

    def slot_of(self, tensor: Any) -> int | None:
        """The slot of a tensor from outside, if a recorded call uses that very one."""
        return self.slots.get(id(tensor._array))

    def inputs(
        self, values: Sequence[Any], parts: Sequence[Any], scalar: int, met: Sequence[ExternalInput]
    ) -> tuple[Slot | Scalar | Constant, ...]:
        """The inputs of an instruction; its first number has the place `scalar`, `met` is what it found outside."""
        found: list[Slot | Scalar | Constant] = []
        new = iter(met)
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
        """The numbers of a tensor that was computed or found outside."""
        array = tensor._array
        return array.value if type(array) is Deferred else array

    def hand_out(self, tensor: Any, slot: int, form: Form, value: Any = None) -> None:
        """Gives a tensor what stands for the array in `slot`."""
        deferred = Deferred(self, slot, form, value, [ref(tensor)])
        self.made.append(ref(deferred))
        tensor._array = deferred  # last, so that whatever interrupts this finds what it has to take back

    def reason(self, asked: int | str | None) -> BreakReason:
        """Why the numbers of a slot are needed right now."""
        return ITERATION if asked in self.elements else reason_of_frame()

    # -- the end

    def alive(self, *, computed: bool = False) -> list[Deferred]:
        """What somebody still holds and that has no array yet, or even if it has."""
        held = [deferred for reference in self.made if (deferred := reference()) is not None]
        self.made = list(map(ref, held))
        return held if computed else [deferred for deferred in held if deferred.value is None]

    def wanted(self) -> list[Deferred]:
        """What is to be computed: all that somebody holds, without what has an array that it is to keep."""
        wanted: list[Deferred] = []
        for deferred in self.alive(computed=not self.deferring):
            array = self.externals.get(deferred.slot)
            if array is None:
                wanted.append(deferred)
            else:  # that of a tensor from outside, which was written to
                deferred.value = array
        return wanted

    def settle(self) -> None:
        """Lets go of what was recorded. What has no array keeps what tells why."""
        for reference in self.made:
            deferred = reference()
            if deferred is not None and deferred.value is not None:
                deferred.segment = None
                deferred.settle()
        self.made.clear()
        self._capture = None

    def abandoned(self, error: BaseException) -> list[Change]:
        """What is to be changed where an error ends the recording: tensors get back the arrays that were to be written.

        Whoever asks for another array learns why there is none.
        """
        lost = FailedSegment(error)
        found: list[Change] = [(setattr, self, "is_over", True)]
        for deferred in self.alive():
            array = self.externals.get(deferred.slot)
            if array is None:
                found.append((setattr, deferred, "segment", lost))
            else:
                owners = [tensor for owner in deferred.owners if (tensor := owner()) is not None]
                found += [(setattr, tensor, "_array", array) for tensor in owners if tensor._array is deferred]
                found.append((setattr, deferred, "value", array))
        return found

    # -- asked by what it handed out

    def demand(self, slot: int) -> None:
        if self.is_over:  # an exception kept it from settling
            return
        assert self._capture is not None, "what is over has handed out arrays"
        self._capture.demand(self, asked=slot)


def adopt_saved_tensors(outs: Sequence[Tensor]) -> None:
    """Has the tensors that an autograd node keeps of its own results get their arrays as well."""
    node = outs[0]._node
    for key, (tensor, version) in getattr(node, "saved", {}).items():
        if key < 0 and version is not None:
            adopt(tensor)


class FailedSegment:
    """In the place of a recording that an error ended."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def demand(self, slot: int) -> None:
        cause = "an earlier op failed" if isinstance(self.error, Exception) else "the compiled call was interrupted"
        raise EngineError(
            f"This tensor was never computed, because {cause} ({type(self.error).__name__}: {self.error}). "
            "Compute it again."
        )
