"""Lists of layers of small models: the lines that build the list are given, the rest is always the same."""

from pathlib import Path
from textwrap import dedent, indent

from scanify.analysis.decide.fact import fact_of
from scanify.analysis.index.project import Index
from scanify.analysis.lists.find import layers_of
from scanify.analysis.lists.layer_list import LayerList
from scanify.analysis.lower.loops import loops_in
from scanify.analysis.project_facts import ProjectFacts
from scanify.source.file import Source

PRELUDE = """\
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr


class Block(eqx.Module):
    linear: eqx.nn.Linear

    def __init__(self, dim, rate=0.0, *, key):
        self.linear = eqx.nn.Linear(dim, dim, key=key)

    def __call__(self, x):
        return x + self.linear(x)


class Other(eqx.Module):
    def __call__(self, x):
        return x


class Plain:
    def __call__(self, x):
        return x


def build(dim, key):
    return Block(dim, key=key)


def many(count, key):
    return [Block(8, key=k) for k in jr.split(key, count)]


@functools.cache
def cached(count, key):
    return [Block(8, key=k) for k in jr.split(key, count)]


def either(count, key):
    if count:
        return [Block(8, key=key)]
    return [Other()]


def default(count, key, found=[]):
    found.append(Block(8, key=key))
    return found


"""
LOOP = "for layer in self.layers:\n    x = layer(x)\nreturn x"
MANY = "[Block(8, key=k) for k in jr.split(key, n)]"


def used_layers(text: str, **files: str) -> LayerList | None:
    """The list of the first loop of a project, with what its uses may do to it."""
    project, _, _ = project_of(text, **files)
    module = project.index.module_at(Path("/p/m.py"))
    fact = fact_of(project, loops_in(module)[0]) if module is not None else None
    return fact.layers if fact is not None else None


def project_of(text: str, **files: str) -> tuple[ProjectFacts, list[LayerList | None], str]:
    """The facts of a project with one file `m.py` and others, what is found for each of its loops, and its text."""
    texts = {"m": text, **files}
    index = Index(Path("/p"), [Source(Path(f"/p/{name}.py"), dedent(each)) for name, each in texts.items()])
    project = ProjectFacts.of(index)
    module = index.module_at(Path("/p/m.py"))
    assert module is not None
    return project, [layers_of(project, loop) for loop in loops_in(module)], dedent(text)


def model(init: str, loop: str = LOOP, field: str = "layers: list", parameters: str = "n, key, dims") -> str:
    """A model whose constructor holds `init` and whose `__call__` holds `loop`."""
    lines = f"class Model(eqx.Module):\n    {field}\n\n"
    if init:
        lines += f"    def __init__(self, {parameters}):\n{indent(dedent(init), '        ')}\n\n"
    lines += "    @staticmethod\n    def many(n, key):\n        return [Block(8, key=k) for k in jr.split(key, n)]\n\n"
    return f"{PRELUDE}{lines}    def __call__(self, x, keys=None):\n{indent(dedent(loop), '        ')}\n"


def layers_in(init: str, loop: str = LOOP, **more: str) -> LayerList | None:
    """The list of the last loop of such a model that goes over modules, None if there is none."""
    found = [each for each in project_of(model(init, loop, **more))[1] if each is not None]
    return found[-1] if found else None


def made_in(layers: LayerList | None) -> list[str]:
    """The expressions that make the layers, as they are written."""
    assert layers is not None
    return [each.module.code(each.node) for each in layers.made]


def open_in(layers: LayerList | None) -> str:
    """What is not shown, in one text."""
    assert layers is not None
    return "; ".join(each.text for each in layers.open)
