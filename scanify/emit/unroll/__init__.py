"""The inverse: scans over stacks become lists and loops.

    stacks ── names, constructions ─┐
    walks ── Walk | reason ─────────┼─> unroll_texts ── new texts, unrolled scans, remaining scans
    bodies, written ── loop text ───┘

`walks` reads one call over a stack, `bodies` its function, and `written` writes the loop as a person would. `inverse`
checks that two texts are the same program up to the choices of a rewrite. `merged` finds a text that was there before.
"""
