"""The process and the machine: environment variables and heap, threads of BLAS, files, and the installed assets."""

__all__: list[str] = []
