"""One file for each of the models in plain JAX, named as in the table: `case(module)` builds it."""
