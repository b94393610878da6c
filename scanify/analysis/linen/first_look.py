"""A first check of a file's text: whether it may hold a loop over modules of Flax Linen."""


def may_be_linen(text: str) -> bool:
    """True if a file mentions loops and Flax Linen."""
    return "linen" in text and "for " in text
