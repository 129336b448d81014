"""Image data sets: folders, lists, IDX, CIFAR and WebDataset files, and decoding."""
