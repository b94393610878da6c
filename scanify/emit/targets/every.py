"""All targets, one module each: to add one, write its module and name it here."""

from scanify.emit.target import Target
from scanify.emit.targets import array_stacked, arrays, haliax, lax, linen, nnx

SCANIFY = "scanify"
"""The default target of a rewrite."""

TARGETS: dict[str, Target] = {
    SCANIFY: array_stacked,
    "haliax": haliax,
    arrays.HALIAX: arrays.OF_HALIAX,
    arrays.LEVANTER: arrays.OF_LEVANTER,
    "lax": lax,
    "nnx": nnx,
    "linen": linen,
}


def policy_at_run_time(target: str) -> bool:
    """True if the code that a target writes reads its remat policy when the program is traced."""
    return TARGETS[target].POLICY_AT_RUN_TIME
