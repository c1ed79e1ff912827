"""Models as ONNX graphs, which run without Python (extra ``onnx``)."""

from robell.persist.onnx.convert import register_converters, to_onnx

__all__ = ["register_converters", "to_onnx"]
