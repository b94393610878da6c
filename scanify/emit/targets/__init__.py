"""The targets, one module each; `every` names them."""
