"""Node types: what can be placed on the canvas, derived from the engine's registries."""

from studio.nodes.types import CATEGORIES as CATEGORIES
from studio.nodes.types import NodeType as NodeType
from studio.nodes.types import Port as Port
from studio.nodes.types import PortType as PortType
from studio.nodes.types import Role as Role

__all__ = ["CATEGORIES", "NodeType", "Port", "PortType", "Role"]
