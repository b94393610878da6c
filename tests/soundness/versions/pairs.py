"""Random pairs of versions: texts of two files and of a case, and whether they are equal by construction."""

import random
import textwrap
from dataclasses import dataclass

from tests.soundness.versions import rules  # noqa: F401  (its features are registered)
from tests.soundness.versions.features import FEATURES, Parts

TEMPLATE = """\
import dataclasses
import functools
import json
import os
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from scanify.nn import ArrayStacked, BlockSeq

{top}


class Layer(eqx.Module):
    w: jax.Array
{fields}

    def __init__(self, key):
        self.w = jax.random.normal(key, (3, 3))
{init}

    def __call__(self, x):
        y = {act}(self.w @ x)
{body}
        return y


class Model(eqx.Module):
    layers: object

    def __init__(self, key):
{start}
        self.layers = {build}

    def __call__(self, x{arguments}):
        x0 = x
{loop}
        out = x
{end}
        return {out}
"""
CASES = """\
import types

import jax
import jax.numpy as jnp


def case(module):
    return module.Model(jax.random.key(0)), (jnp.arange(3.0) + 0.5,{arguments})
"""
LAYERS = "[Layer(k) for k in jax.random.split(key, 3)]"
FORMS = {
    "loop": (LAYERS, "for layer in self.layers{order}:\n    x = layer(x)"),
    "by number": (LAYERS, "for i in range(3){order}:\n    x = self.layers[i](x)"),
    "stacked": (f"ArrayStacked.of({LAYERS})", "x = {stack}.fold(x)"),
    "stacked in the call": (LAYERS, "x = ArrayStacked.of(self.layers{order}).fold(x)"),
    "a sequence": (f"BlockSeq.of({LAYERS})", "x = {stack}.fold(x)"),
}
ORDERS = ("", "[::-1]", "[:2]")
ACTS = ("jnp.tanh", "jnp.sin", "jax.nn.sigmoid")


@dataclass(frozen=True)
class Version:
    """What one version is: `values` by feature, the order of its layers and the function between them; and how it is
    spelled: `form`, and a spelling of each feature.
    """

    values: tuple[tuple[str, int], ...]
    order: int
    act: int
    form: str
    spellings: tuple[int, ...]

    @property
    def meaning(self) -> object:
        return self.values, self.order, self.act

    @property
    def parts(self) -> list[Parts]:
        each = zip(self.values, self.spellings, strict=True)
        return [FEATURES[name].make(value, spelling) for (name, value), spelling in each]

    def files(self, name: str) -> dict[str, str]:
        """The files of the version, whose module has this name."""
        parts = self.parts
        build, loop = FORMS[self.form]
        out = next((part.out for part in parts if part.out != "out"), "out")
        places = {
            "top": "\n\n\n".join(part.top for part in parts if part.top).replace("HELPER", f"{name}_helper"),
            "fields": _at(4, [part.fields for part in parts]),
            "init": _at(8, [part.init for part in parts]),
            "body": _at(8, [part.body for part in parts]),
            "start": _at(8, [part.start for part in parts]),
            "end": _at(8, [part.end for part in parts]),
            "arguments": "".join(f", {argument}" for part in parts for argument, _ in part.arguments),
        }
        order = ORDERS[self.order]
        stack = f"{build.partition('.')[0]}.of(self.layers{order})" if order else "self.layers"
        loop = _at(8, [loop.format(order=order, stack=stack)])
        text = TEMPLATE.format(build=build, loop=loop, act=ACTS[self.act], out=out, **places)
        more = {f"{name}{suffix}": held for part in parts for suffix, held in part.files.items()}
        return {f"{name}.py": text, **more}

    @property
    def case(self) -> str:
        given = "".join(f" {value}," for part in self.parts for _, value in part.arguments)
        return CASES.format(arguments=given)


@dataclass(frozen=True)
class Pair:
    seed: int
    before: Version
    after: Version

    @property
    def equal(self) -> bool:
        """Equal by construction."""
        return self.before.meaning == self.after.meaning

    @property
    def changed(self) -> str:
        """What was changed, in words."""
        odd = [a for (a, v), (_, w) in zip(self.before.values, self.after.values, strict=True) if v != w]
        more = [
            name
            for name, one, two in (
                ("the order of layers", self.before.order, self.after.order),
                ("the function", self.before.act, self.after.act),
            )
            if one != two
        ]
        return ", ".join([*odd, *more]) or "nothing"

    @property
    def seen(self) -> bool:
        """Whether running each version alone shows the difference."""
        odd = [name for name in self.changed.split(", ") if name in FEATURES]
        return not odd or any(FEATURES[name].seen for name in odd) or len(odd) < len(self.changed.split(", "))

    def files(self) -> dict[str, str]:
        return {**self.before.files("one"), **self.after.files("two"), "cases.py": self.before.case}


def _at(indent: int, texts: list[str]) -> str:
    return textwrap.indent("\n".join(text for text in texts if text), " " * indent)


def pair(seed: int) -> Pair:
    """The pair of a seed: half of them equal, half with one thing changed."""
    rng = random.Random(seed)
    names = _fitting(rng)
    before = _version(rng, tuple((name, rng.randrange(FEATURES[name].values)) for name in names))
    other = _version(rng, before.values)
    after = Version(before.values, before.order, before.act, other.form, other.spellings)
    return Pair(seed, before, _changed(rng, after) if rng.random() < 0.5 else after)


def _version(rng: random.Random, values: tuple[tuple[str, int], ...]) -> Version:
    spellings = tuple(rng.randrange(2) for _ in values)
    return Version(values, rng.choice((0, 0, 1, 2)), rng.randrange(len(ACTS)), rng.choice(list(FORMS)), spellings)


def _fitting(rng: random.Random) -> list[str]:
    """One to three features; of those that say what is returned, or what is a field, one."""
    found: list[str] = []
    wanted = rng.randint(1, 3)
    for name in rng.sample(list(FEATURES), len(FEATURES)):
        parts = [FEATURES[each].make(0, 0) for each in (*found, name)]
        if sum(part.out != "out" for part in parts) > 1 or sum("b:" in part.fields for part in parts) > 1:
            continue
        found.append(name)
        if len(found) == wanted:
            break
    return found


def _changed(rng: random.Random, version: Version) -> Version:
    """The same with another value of one thing: mostly of a feature."""
    at = rng.randrange(len(version.values) + 1)
    if at == len(version.values):
        if rng.random() < 0.5:
            order = rng.choice([each for each in range(len(ORDERS)) if each != version.order])
            return Version(version.values, order, version.act, version.form, version.spellings)
        act = rng.choice([each for each in range(len(ACTS)) if each != version.act])
        return Version(version.values, version.order, act, version.form, version.spellings)
    name, value = version.values[at]
    other = rng.choice([each for each in range(FEATURES[name].values) if each != value])
    values = (*version.values[:at], (name, other), *version.values[at + 1 :])
    return Version(values, version.order, version.act, version.form, version.spellings)
