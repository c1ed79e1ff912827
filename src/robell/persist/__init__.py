"""Models kept: skops files, what they say about their model, the model card, ONNX graphs."""
