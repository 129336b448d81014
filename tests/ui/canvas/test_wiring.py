from __future__ import annotations

from hypothesis import given

from studio.document.model import Document, End
from studio.nodes.catalogue import catalogue
from studio.ui.canvas.geometry import Side
from studio.ui.canvas.wires.pending_wire import Wiring, ports_of
from tests.studio.document.strategies import documents
from tests.ui.canvas.conftest import network, wire


def agrees(document: Document) -> None:
    """What glows is exactly what would not be refused."""
    for name, node in document.nodes.items():
        kind = catalogue().get(node.type)
        sides: tuple[Side, ...] = ("input", "output")
        for side in sides if kind else ():
            assert kind is not None
            for port in ports_of(kind, side):
                wiring = Wiring(document, catalogue(), End(name, port.name), side)
                for other in document.nodes:
                    other_kind = catalogue().get(document.nodes[other].type)
                    offered = ports_of(other_kind, wiring.wanted) if other_kind else ()
                    allowed = {
                        f"{wiring.wanted}.{p.name}"
                        for p in offered
                        if wiring.refusal(End(other, p.name), wiring.wanted) is None
                    }
                    assert wiring.fitting(other) == allowed


def test_what_glows_is_what_fits() -> None:
    agrees(network())


@given(documents())
def test_what_glows_is_what_fits_in_any_document(document: Document) -> None:
    agrees(document)


def test_reasons() -> None:
    wiring = Wiring(network(), catalogue(), End("relu", "output"), "output")
    assert "loop" in (wiring.refusal(End("hidden", "input"), "input") or "")
    assert "loss" in (wiring.refusal(End("adam", "loss"), "input") or "")
    assert "output" in (wiring.refusal(End("hidden", "output"), "output") or "")
    assert wiring.refusal(End("loss", "target"), "input") is None


def test_the_body_of_a_node_stands_for_its_first_free_port() -> None:
    lifted = wire("relu.output -> loss.input")
    wiring = Wiring(network(), catalogue(), End("relu", "output"), "output", lifted)
    assert wiring.nearest_fit("loss") == "input"
    assert Wiring(network(), catalogue(), End("relu", "output"), "output").nearest_fit("adam") is None


def test_a_lifted_wire_does_not_close_loops() -> None:
    document = network()
    lifted = wire("hidden.output -> relu.input")
    wiring = Wiring(document, catalogue(), End("relu", "input"), "input", lifted)
    assert wiring.refusal(End("hidden", "output"), "output") is None
