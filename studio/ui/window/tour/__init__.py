"""The tour: a card that points at controls while the user builds and trains a first network."""
