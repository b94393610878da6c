"""Small projects put together at random: several files, a list of layers, loops over it, and traps."""
