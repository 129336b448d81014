"""Reports of runs: one HTML file with curves, graph, results by class and settings."""

from studio.export.run_report.run_report import write_run_report

__all__ = ["write_run_report"]
