"""Functions of the project as they are called: their decorators and arguments, what they did before, `super()`."""
