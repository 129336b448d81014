"""A layer of a recurrent network over all its steps, as one op."""
