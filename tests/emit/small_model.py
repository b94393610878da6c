"""The model that the tests of emission rewrite: what stands above its loop, and the loop's indentation."""

from textwrap import dedent, indent

HEAD = """\
from scanify.nn import ArrayStacked
from blocks import Block


class Model:
    def __init__(self, keys):
        self.layers = [Block(k) for k in keys]

    def __call__(self, x, mask, keys, state):
        n = len(keys)
"""
STACKED = HEAD.replace("[Block(k) for k in keys]", "ArrayStacked.of([Block(k) for k in keys])")


def body(text: str) -> str:
    return indent(dedent(text).strip("\n") + "\n", " " * 8)
