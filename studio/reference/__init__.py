"""Reference of the catalogue as Markdown: what the documentation site and the window show of a node."""
