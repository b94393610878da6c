"""Names: free, taken, unbound and unused ones, and the imports that bind them."""
