"""Remat policies in source form."""

from scanify.errors import ScanifyError

POLICIES = ("full", "nested", "offload", "save_all", "dots")
"""The named policies. True and False are policies too."""


def policy_expression(remat: str | None) -> str | None:
    """Return a policy in source form: `"nested"` with quotes, `True` and `False` without. Raises ScanifyError."""
    if remat is None:
        return None
    if remat.capitalize() in ("True", "False"):
        return remat.capitalize()
    if remat in POLICIES:
        return f'"{remat}"'
    raise ScanifyError(f"expected a checkpoint policy among {', '.join(POLICIES)}, True, False, got {remat!r}")
