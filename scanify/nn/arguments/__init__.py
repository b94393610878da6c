"""Arguments of a sequence of layers: what is shared, and what each layer gets."""
