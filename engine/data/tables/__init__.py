"""Tables in CSV and Parquet files: reading, encoding of categories, and diagnostics."""
