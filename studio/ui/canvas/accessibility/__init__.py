"""What screen readers get of the canvas: an element for each node, and events."""
