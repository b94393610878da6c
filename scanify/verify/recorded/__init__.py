"""Evidence from a run of the user's own program: calls that it makes are recorded, and each is a case."""
