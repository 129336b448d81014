"""The wires of the canvas: their curves, routes, labels, painting and graphics items."""
