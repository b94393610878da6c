"""Lists of layers: where they are made, what their layers are, and where they can be stacked."""
