"""Each model of `fixtures/` rewritten to each target under each policy, and what the proof says: a table of the docs."""
