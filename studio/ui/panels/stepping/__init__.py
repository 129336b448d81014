"""The panel Step through: one training step, node by node."""
