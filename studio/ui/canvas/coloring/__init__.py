"""Colors of nodes and wires by figures, and by compiled regions."""
