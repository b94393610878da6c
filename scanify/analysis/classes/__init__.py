"""Classes of the project and of libraries: bases, methods, fields, and which are modules of a framework."""
