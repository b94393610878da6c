"""Evidence from a run of the user's own program: its calls are recorded, and each is a case."""
