"""A first look at a file, by its text: whether it may hold a loop over modules of Flax Linen."""


def may_be_linen(text: str) -> bool:
    """Whether a file says anything of loops and of Flax Linen."""
    return "linen" in text and "for " in text
