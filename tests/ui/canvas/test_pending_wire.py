from __future__ import annotations

from hypothesis import given

from studio.document.model import Document, Endpoint
from studio.lowering.analysis.block_types import known_type
from studio.nodes.catalogue import catalogue
from studio.ui.canvas.geometry import Side
from studio.ui.canvas.wires.pending_wire import PendingWire, ports_of
from tests.studio.document.strategies import documents
from tests.ui.canvas.conftest import network, wire


def assert_fitting_ports_match_refusals(document: Document) -> None:
    """The fitting ports are exactly those that are not refused."""
    for name in document.nodes:
        kind = known_type(document, catalogue(), name)
        sides: tuple[Side, ...] = ("input", "output")
        for side in sides if kind else ():
            assert kind is not None
            for port in ports_of(kind, side):
                pending = PendingWire(document, catalogue(), Endpoint(name, port.name), side)
                for other in document.nodes:
                    other_kind = known_type(document, catalogue(), other)
                    offered = ports_of(other_kind, pending.loose_side) if other_kind else ()
                    allowed = {
                        f"{pending.loose_side}.{p.name}"
                        for p in offered
                        if pending.refusal(Endpoint(other, p.name), pending.loose_side) is None
                    }
                    assert pending.fitting_ports(other) == allowed


def test_fitting_ports_match_refusals() -> None:
    assert_fitting_ports_match_refusals(network())


@given(documents())
def test_fitting_ports_match_refusals_in_random_documents(document: Document) -> None:
    assert_fitting_ports_match_refusals(document)


def test_refusal_reasons() -> None:
    pending = PendingWire(network(), catalogue(), Endpoint("relu", "output"), "output")
    assert "would close a cycle" in (pending.refusal(Endpoint("hidden", "input"), "input") or "")
    assert "loss" in (pending.refusal(Endpoint("adam", "loss"), "input") or "")
    assert "output" in (pending.refusal(Endpoint("hidden", "output"), "output") or "")
    assert pending.refusal(Endpoint("loss", "target"), "input") is None


def test_best_port_is_the_first_unconnected_one() -> None:
    detached = wire("relu.output -> loss.input")
    pending = PendingWire(network(), catalogue(), Endpoint("relu", "output"), "output", detached)
    assert pending.best_port("loss") == "input"
    assert PendingWire(network(), catalogue(), Endpoint("relu", "output"), "output").best_port("adam") is None


def test_detached_wire_does_not_count_as_a_cycle() -> None:
    document = network()
    detached = wire("hidden.output -> relu.input")
    pending = PendingWire(document, catalogue(), Endpoint("relu", "input"), "input", detached)
    assert pending.refusal(Endpoint("hidden", "output"), "output") is None
