"""Functions, classes and objects of the project."""
