"""Values: an abstract interpreter of the project's own code.

`interpret` runs functions over abstract values (`domain`), with a heap of allocation sites (`heap`), so that an alias,
a closure or a holder of a list is that list. What it does not understand is `Unknown`, with the reason and the place.
Nothing of the project is executed.
"""
