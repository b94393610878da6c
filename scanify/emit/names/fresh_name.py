"""Names for what a rewrite adds to a scope."""

from collections.abc import Set


def fresh(wanted: str, taken: Set[str]) -> str:
    """`wanted`, or `wanted_2` and so on where that name is taken."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name
