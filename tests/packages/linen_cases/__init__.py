"""One file for each of the models of Flax Linen, named as in the table: `case(module)` builds it."""
