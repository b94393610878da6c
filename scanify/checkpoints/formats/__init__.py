"""The files that arrays are saved in: which arrays are in one, where their bytes are, and how one is written."""
