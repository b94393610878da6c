"""Names for additions of a rewrite to a scope."""

from collections.abc import Set


def fresh(wanted: str, taken: Set[str]) -> str:
    """Return `wanted`, or `wanted_2` and so on if that name is taken."""
    name, number = wanted, 2
    while name in taken:
        name, number = f"{wanted}_{number}", number + 1
    return name
