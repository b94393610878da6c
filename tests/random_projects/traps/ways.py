"""Short ways to write the variants of traps."""

from textwrap import dedent

from tests.random_projects.trap import Variant


def tags(text: str) -> frozenset[str]:
    return frozenset(text.split())


def slots(needs: str = "", **texts: str) -> Variant:
    """A variant of lines for slots; `net__built` is the slot `net.built`."""
    return Variant({name.replace("__", "."): dedent(text).strip("\n") for name, text in texts.items()}, tags(needs))


def seen(use: str, extra: str, needs: str = "", *, in_class: bool = False) -> Variant:
    """A function that looks at the parameters, in a file of its own or as a method of the model, and its call."""
    return slots(needs, net__methods=use + "\n", extra=extra) if in_class else slots(needs, use=use, extra=extra)
