"""Models as ONNX graphs, which run without Python (extra ``onnx``)."""
