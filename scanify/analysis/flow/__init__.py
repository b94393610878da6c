"""What a loop reads and writes, and what of it goes from layer to layer: dataflow over one lowered loop."""
