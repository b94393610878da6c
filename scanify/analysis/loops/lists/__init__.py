"""What is walked: whether it is a list of layers, what the list holds, and how many."""
