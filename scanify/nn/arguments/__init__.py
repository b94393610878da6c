"""Arguments of a sequence of layers: shared ones and per-layer ones."""
