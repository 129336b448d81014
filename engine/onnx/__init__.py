"""ONNX files: `export` writes a model, `compare` runs a file in onnxruntime. Needs the extra `onnx`."""

from engine import lazy

__getattr__, __dir__ = lazy.attach(
    __name__,
    {
        "engine.onnx.comparison": "Comparison, compare",
        "engine.onnx.errors": "OnnxExportError",
        "engine.onnx.exporter": "build_model, export, is_in_onnx_export, save_model",
    },
)
