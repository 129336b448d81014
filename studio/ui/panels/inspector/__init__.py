"""Forms for the selection and the project."""
