"""The panels shown in docks around the canvas."""
