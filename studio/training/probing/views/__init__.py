"""Views of a tensor as plain data: histogram, heat map, grid of images, projection."""
