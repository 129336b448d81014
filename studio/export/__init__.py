"""Export projects as Python packages."""

from studio.export.export_error import ExportError
from studio.export.package import TARGETS, ExportRequest, Target, export_package

__all__ = ["TARGETS", "ExportError", "ExportRequest", "Target", "export_package"]
