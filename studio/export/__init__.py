"""Export projects as Python packages."""

from studio.export.export_error import ExportError
from studio.export.package import LIBRARIES, STAGES, TARGETS, ExportRequest, Target, export_package, export_steps

__all__ = ["LIBRARIES", "STAGES", "TARGETS", "ExportError", "ExportRequest", "Target", "export_package", "export_steps"]
