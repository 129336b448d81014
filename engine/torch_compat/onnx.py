"""torch.onnx: only `is_in_onnx_export`. The engine does not write ONNX files."""


def is_in_onnx_export() -> bool:
    """Return False."""
    return False


__all__ = ["is_in_onnx_export"]
