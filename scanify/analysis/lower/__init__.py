"""Lower every form of loop that may iterate over modules to a `Loop`, and resolve the scopes of names."""
