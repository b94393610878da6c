"""One model each: `case(module)` builds it, for the module of the loop; `by_hand` calls it with its list stacked."""
