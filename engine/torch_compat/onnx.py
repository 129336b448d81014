"""What can be asked of torch.onnx. The engine does not write ONNX files yet."""


def is_in_onnx_export() -> bool:
    """Never."""
    return False


__all__ = ["is_in_onnx_export"]
