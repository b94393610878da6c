"""Small models to analyse: the parts that differ are given, the rest is always the same."""

from pathlib import Path
from textwrap import dedent, indent

from scanify.analysis import analyse
from scanify.analysis.index import Index
from scanify.analysis.plan import Plan, Refusal
from scanify.analysis.stack import InitStack
from scanify.source.file import Source

PRELUDE = """\
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, dim, rate=0.0, *, key):
        self.linear = eqx.nn.Linear(dim, dim, key=key)

    def __call__(self, x, mask=None, *, key=None):
        return x + self.linear(x)

    def attend(self, x, mask=None):
        return x

    @staticmethod
    def scale(x, y=None):
        return x


class Other(eqx.Module):
    def __call__(self, x):
        return x


def helper(x):
    return x * 2


class Model(eqx.Module):
    layers: list[Block]
    norm: eqx.nn.LayerNorm

"""
INIT = "self.layers = [Block(8, key=k) for k in jr.split(key, depth)]"
MANY = "[Block(8, key=k) for k in jr.split(key, depth)]"
LOOP = "for layer in self.layers:\n    x = layer(x)"


def model(
    loop: str = LOOP, init: str = INIT, before: str = "", after: str = "return x", parameters: str = "x, mask, keys"
) -> str:
    """A model whose `__call__` holds `before`, `loop`, `after`, and whose `__init__` builds its list as `init` says."""
    build = f"def __init__(self, depth, *, key):\n{indent(dedent(init), '    ')}\n"
    body = "\n".join(part for part in (dedent(before), dedent(loop), dedent(after)) if part)
    call = f"\ndef __call__(self, {parameters}):\n{indent(body, '    ')}\n"
    return PRELUDE + indent(build + call, "    ")


# A block that keeps the rate that it is built with, which the one above leaves alone.
KEPT = (
    (
        "    linear: eqx.nn.Linear\n\n    def __init__(self, dim, rate",
        "    linear: eqx.nn.Linear\n    rate: float\n\n    def __init__(self, dim, rate",
    ),
    ("dim, dim, key=key)\n", "dim, dim, key=key)\n        self.rate = rate\n"),
)


def kept(text: str) -> str:
    """The same model, whose blocks keep their rate."""
    for before, after in KEPT:
        assert text.count(before) == 1
        text = text.replace(before, after)
    return text


def decide(text: str, stack=None, files: dict[str, str] | None = None, path: str = "model.py") -> list[Plan | Refusal]:
    """Analyse one file, with others beside it that can be read but were not given."""
    others = {Path(name): Source(Path(name), dedent(body)) for name, body in (files or {}).items()}
    source = Source(Path(path), text)
    return list(analyse([source], stack=stack, index=lambda: Index(source.path.parent, [source], others.get)).loops)


def only(text: str, **given) -> Plan | Refusal:
    found = decide(text, **given)
    assert len(found) == 1, found
    return found[0]


def text_of(found: Plan, text: str) -> list[str]:
    assert isinstance(found.stack, InitStack)
    return [text[site.place.span.start : site.place.span.end] for site in found.stack.sites]


def refused(rule: str, text: str, **given) -> Refusal:
    found = only(text, **given)
    assert isinstance(found, Refusal), found
    assert found.rule == rule, (found.rule, found.reason)
    assert found.remedy, found.reason
    return found
