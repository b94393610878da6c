"""The way back for whole projects: what a rewrite has kept, or else what can be read off the source, and the proof.

`kept` is what rewrites leave behind, `merged` brings an old text and later edits together, `inverse` says whether a
rewrite gives a text back, and `project` joins them into an `Unrolling`. Nothing is written here.
"""
