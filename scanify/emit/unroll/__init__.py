"""The way back: scans over stacks become lists and loops.

    stacks ── names, constructions ─┐
    walks ── Walk | reason ─────────┼─> unroll_texts ── texts, what was turned back, what was not
    bodies, written ── loop text ───┘

`walks` reads one call over a stack, `bodies` its function, `written` the loop as a person would write it. `inverse`
knows when two texts are the same program but for what a rewrite chooses. `merged` finds a text that was there before.
"""
