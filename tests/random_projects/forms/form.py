"""What a form is: how a forward pass walks a list of layers.

`self.BLOCKS` is the list. `@first`, `@last`, `@before` and `@after` are slots, `#@` stands at the end of a line that
begins a loop, and `BODY` is the update of the carry, which a trap may replace.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """The body of the model's `__call__`, what its layers take beside `x`, and what the model takes.

    `signature`, `enter` and `gives` are of the layer: its further parameters, the statements it begins with and what it
    returns, where `Y` is what it computes. `arguments` are of the model beside `x`, with the values they are called
    with. `init` and `fields` are further ones of the model, `methods` its own and `base` its base class, `other` definitions
    in front of it. `build`, `annotation` and `field` take the place of the list's own. `naive`: a rewrite without a
    look can be written for it.
    Tags: "statement" for one with slots in its body, "simple" for a layer that is called as `b(x)`, "elastic" where any
    number of layers will do, "method" where the loop stands in the method of the model, "for" for the plainest, "traced" where each layer is traced by
    itself, so that no array may leave it unseen.
    """

    name: str
    text: str
    tags: frozenset[str]
    call: str = "b(x)"
    signature: str = ""
    enter: str = ""
    gives: str = "Y"
    arguments: tuple[tuple[str, str], ...] = ()
    naive: bool = False
    init: str = ""
    fields: str = ""
    other: str = ""
    build: str = ""
    annotation: str = ""
    field: str = ""
    methods: str = ""
    base: str = "eqx.Module"


def tags(text: str) -> frozenset[str]:
    return frozenset(text.split())


STATEMENT = "\n    @first\n    x = BODY\n    @last\n@after\nreturn x"
