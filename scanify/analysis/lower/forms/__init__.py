"""Forms of loops that are read as plain ones: by number, counted by hand, calls that walk, iterators, filled lists."""
