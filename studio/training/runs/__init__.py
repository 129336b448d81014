"""Files of runs: write, read, compare, resume and export records, checkpoints and curves."""
