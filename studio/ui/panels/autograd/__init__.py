"""The backward graph of one real step."""
