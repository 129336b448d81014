"""Project files: reading, writing, migration, templates, backups and recent projects."""
