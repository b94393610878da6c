"""What commands do with the calls that a run records."""
