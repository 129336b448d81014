"""The nodes of the canvas: their content, layout, painting and graphics items."""
