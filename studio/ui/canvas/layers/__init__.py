"""Graphics items that draw above or below all nodes and wires."""
