"""Lists of layers: the code that builds them, the classes of their layers, and the places where they can be stacked."""
