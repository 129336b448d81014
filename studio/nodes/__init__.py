"""Node types: what can be placed on the canvas, derived from the engine's registries."""

from studio.nodes.catalogue import Catalogue as Catalogue
from studio.nodes.catalogue import catalogue as catalogue
from studio.nodes.catalogue import placeholder as placeholder
from studio.nodes.types import CATEGORIES as CATEGORIES
from studio.nodes.types import NodeType as NodeType
from studio.nodes.types import Port as Port
from studio.nodes.types import PortType as PortType
from studio.nodes.types import Role as Role

__all__ = ["CATEGORIES", "Catalogue", "NodeType", "Port", "PortType", "Role", "catalogue", "placeholder"]
