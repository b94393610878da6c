"""Real models in which one place does something else at random: it counts, caches, draws, is patched or has an alias."""
