"""Names: which are free, taken, unbound or no longer used, and what imports them."""
