"""One file for each of the models of Flax NNX, named as in the table: `case(module)` builds it."""
