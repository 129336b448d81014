"""Widgets on top of the canvas: minimap, search, selection bar, hints, menus and tooltips."""
