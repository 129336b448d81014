"""What data are like: samples before and after a node, statistics, findings, arguments learned from them."""
