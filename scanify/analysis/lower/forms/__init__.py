"""Loop forms read as plain loops: by number, counted by hand, calls that iterate, iterators, filled lists."""
