"""Facts about loops: what is walked, what one iteration does, and what the list of layers is."""
