"""What runs leave behind: records, checkpoints, curves; read back, compared, resumed, exported."""
