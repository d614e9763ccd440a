"""Models of transformers that read and draw: `transformers:ID_OR_DIR`."""
