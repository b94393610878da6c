"""One run over the code of a project: where it begins, what its names stand for, what it notes and what it changes."""
