"""The canvas: a document drawn as nodes and wires, and the gestures that edit it."""
