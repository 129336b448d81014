"""Values and times of the nodes of a graph, from computing its nodes one by one on a batch."""
