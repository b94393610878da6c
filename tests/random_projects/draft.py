"""From a base and the slots that its traps fill to the files of a project."""

import ast
import random
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from textwrap import indent

from tests.random_projects.builds import HELPER, METHOD, with_layers
from tests.random_projects.forms import Form
from tests.random_projects.layers import Layer
from tests.random_projects.project import Loop

# Which stage of a project stands in which file; each may use those before it.
STAGES = ("helpers", "common", "layers", "build", "run", "net", "use", "main")
LAYOUTS = (
    dict.fromkeys(STAGES, "main"),
    {**dict.fromkeys(STAGES, "model"), "use": "main", "main": "main"},
    {**dict.fromkeys(STAGES, "model"), "helpers": "helpers", "use": "train", "main": "main"},
    {**dict.fromkeys(STAGES, "layers"), "build": "net", "run": "net", "net": "net", "use": "main", "main": "main"},
    {stage: {"common": "counts", "build": "building", "use": "train"}.get(stage, stage) for stage in STAGES},
    {**dict.fromkeys(STAGES, "pkg.model"), "use": "train", "main": "main"},
    {**{stage: f"pkg.{stage}" for stage in STAGES}, "build": "pkg.run", "use": "pkg.train", "main": "main"},
)
IMPORTS = {
    "contextvars": "import contextvars",
    "dataclasses": "import dataclasses",
    "functools": "import functools",
    "io": "import io",
    "itertools": "import itertools",
    "logging": "import logging",
    "math": "import math",
    "Module": "from equinox import Module",
    "checkpoint": "from jax import checkpoint",
    "jrandom": "import jax.random as jrandom",
    "norm": "from jax.numpy.linalg import norm",
    "partial": "from functools import partial",
    "reduce": "from functools import reduce",
    "vmap": "from jax import vmap",
    "operator": "import operator",
    "pickle": "import pickle",
    "random": "import random",
    "types": "import types",
    "Callable": "from collections.abc import Callable",
    "eqx": "import equinox as eqx",
    "jax": "import jax",
    "jnp": "import jax.numpy as jnp",
    "jr": "import jax.random as jr",
    "jtu": "import jax.tree_util as jtu",
    "np": "import numpy as np",
}
NAMES = (
    ("Block", "Net", "blocks"),
    ("Layer", "Model", "layers"),
    ("Cell", "Tower", "cells"),
    ("Unit", "Trunk", "stack"),
)


SPELLINGS = (
    (r"\bjr\.", "jax.random."),
    (r"\bjr\.", "jrandom."),
    (r"\beqx\.Module\b", "Module"),
    (r"\bfunctools\.(reduce|partial)\b", r"\1"),
    (r"\bjax\.tree\.(map|leaves|flatten|unflatten|structure)\b", r"jtu.tree_\1"),
    (r"\bjax\.tree\.(map|leaves|flatten|unflatten|structure)\b", r"jax.tree_util.tree_\1"),
    (r"\bjax\.(vmap|checkpoint)\b", r"\1"),
    (r"\bjnp\.linalg\.norm\b", "norm"),
)
BYSTANDER = """
class SideLayer(eqx.Module):
    v: jax.Array

    def __call__(self, x):
        return x - 0.5 * jnp.sin(self.v * x)


class Side(eqx.Module):
    parts: list[SideLayer]

    def __init__(self, d, n, key):
        self.parts = [SideLayer(jr.normal(k, (d,))) for k in jr.split(key, n)]

    def __call__(self, x):
        for part in self.parts:#@@
            x = part(x)
        return x
"""


@dataclass(frozen=True)
class Base:
    """What a project is made of before any trap: `build` are the statements that build the list.

    A `bystander` is another model with a loop of its own. `spelling` are other ways to write names of libraries.
    """

    layer: Layer
    form: Form
    build: str
    layout: Mapping[str, str]
    names: tuple[str, str, str] = NAMES[0]
    length: int = 4
    annotation: str = "list[LAYER]"
    body: str = ""
    bystander: bool = False
    spelling: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.layer.name}, {self.form.name}"


def random_layout(pick: random.Random) -> Mapping[str, str]:
    return pick.choice(LAYOUTS)


def files(base: Base, slots: Mapping[str, str]) -> tuple[dict[str, str], tuple[Loop, ...]]:
    """The texts of a project by file, in an order in which they can be executed, and its loops."""
    chunks: dict[str, list[str]] = {stage: [slots.get(stage, "")] for stage in STAGES}
    chunks["layers"] += [base.layer.before, _layer(base, slots), slots.get("layers.after", "")]
    if re.search(r"(?<!\.)\bmake_blocks\(", base.build):
        chunks["build"].append(HELPER)
    chunks["net" if "NET" in base.form.other else "run"].append(fill(_body(base, base.form.other), slots))
    chunks["net"] += [_net(base, slots), slots.get("net.after", "")]
    chunks["net"] += [BYSTANDER] if base.bystander else []
    chunks["main"] += _main(base, slots)
    texts: dict[str, list[str]] = {}
    for stage in STAGES:
        kept = [
            _named(base, with_layers(chunk, base.layer.new)).strip("\n") for chunk in chunks[stage] if chunk.strip()
        ]
        if kept:
            texts.setdefault(base.layout[stage], []).extend(kept)
    plain = {f"{name.replace('.', '/')}.py": _joined(parts) for name, parts in texts.items()}
    whole = {name: _with_imports(name, plain) for name in plain}
    loops = tuple(loop for name, text in whole.items() for loop in _loops(name, text))
    packages = {"pkg/__init__.py": ""} if any("/" in name for name in whole) else {}
    return packages | {name: re.sub("#@@?", "", text) for name, text in whole.items()}, loops


def _joined(parts: Iterable[str]) -> str:
    return re.sub(r"\n{3,}(?= )", "\n\n", "\n\n\n".join(parts)) + "\n"


def _named(base: Base, text: str) -> str:
    layer, net, blocks = base.names
    text = re.sub(r"\bLAYER\b", layer, text)
    text = re.sub(r"\bNET\b", net, text)
    text = re.sub(r"\bBLOCKS\b", blocks, text)
    text = re.sub(r"\bN\b", str(base.length), text)
    for pattern, name in base.spelling:
        text = re.sub(pattern, name, text)
    return text


def fill(text: str, slots: Mapping[str, str]) -> str:
    """A text with the lines of each slot in place of `@slot`, as far in as that stands."""
    lines: list[str] = []
    for line in text.split("\n"):
        name = line.strip()
        if not name.startswith("@") or name[1:] not in KNOWN:
            lines.append(line)
        elif slots.get(name[1:]):
            lines.append(indent(slots[name[1:]], line[: len(line) - len(line.lstrip())]))
            lines += [""] if name.endswith("methods") else []
    return "\n".join(lines)


KNOWN = frozenset(
    "fields init enter methods net.fields net.before net.built net.methods before first last after make.before make.after "
    "call.before call.after extra".split()
)


def _layer(base: Base, slots: Mapping[str, str]) -> str:
    layer, form = base.layer, base.form
    lines = [f"class LAYER({layer.base}):", indent(layer.fields, "    "), "    @fields", ""]
    if layer.init:
        lines += [f"    def __init__(self, {layer.parameters}):", indent(layer.init, "    " * 2), "        @init", ""]
    lines += ["    @methods", f"    def __call__(self, x{form.signature}):"]
    lines += [indent(form.enter, "    " * 2)] if form.enter else []
    lines += ["        @enter", f"        return {form.gives.replace('Y', layer.term)}"]
    if "step" in form.tags:
        lines += ["", "    def step(self, x, c):", "        return self(x) + c, 0.5 * c + x"]
    return fill("\n".join(lines), slots)


def _body(base: Base, text: str) -> str:
    body = base.body or "CALL"
    return text.replace("BODY", body.replace("CALL", base.form.call)).replace("CALL", base.form.call)


def _net(base: Base, slots: Mapping[str, str]) -> str:
    form = base.form
    parameters = "".join(
        f", {name}=None" if form.name == "training and decode" else f", {name}" for name, _ in form.arguments
    )
    field = form.field or f"BLOCKS: {base.annotation}"
    lines = [f"class NET({form.base}):", f"    {field}", indent(form.fields, "    "), "    @net.fields"]
    lines += [
        "",
        f"    def __init__(self, d, n, key{slots.get('net.parameters', '')}):",
        "        @net.before",
        indent(base.build, "        "),
    ]
    lines += [indent(form.init, "        "), "        @net.built", ""]
    if "self.make_blocks" in base.build:
        lines += [indent(METHOD, "    "), ""]
    lines += [indent(_body(base, form.methods), "    "), ""] if form.methods else []
    lines += ["    @net.methods", f"    def __call__(self, x{parameters}):", indent(_body(base, form.text), "        ")]
    return fill("\n".join(line for line in lines if line.strip() or line == ""), slots)


def _main(base: Base, slots: Mapping[str, str]) -> Iterable[str]:
    names = "".join(f", {name}" for name, _ in base.form.arguments)
    values = "".join(f" {value}," for _, value in base.form.arguments)
    start = slots.get("start", "jnp.linspace(0.1, 0.9, 4)")
    made = slots.get("made", "NET(4, N, jr.key(0))")
    lines = ["def make():", "    @make.before", f"    net = {made}", "    @make.after"]
    yield fill("\n".join([*lines, f"    return net, ({start},{values})"]), slots)
    called = (
        slots.get("called", f"net(x{names})") if base.form.name != "training and decode" else f"(net(x), net(x{names}))"
    )
    lines = [f"def call(net, x{names}):", "    @call.before", f"    y = {called}", "    @call.after"]
    lines.append("    return y, Side(4, 3, jr.key(8))(jnp.ones(4))" if base.bystander else "    return y")
    yield fill("\n".join(lines), slots)
    if "extra" in slots:
        yield fill(f"def extra(net, x{names}):\n    seen = []\n    @extra\n    return seen", slots)


# -- imports and lines ------------------------------------------------------------------------------------------------


def _with_imports(name: str, plain: Mapping[str, str]) -> str:
    text = plain[name]
    used = _names(text)
    here = defined(text)
    lines = [line for word, line in IMPORTS.items() if word in used and word not in here]
    for other, others in plain.items():
        if other == name:
            break
        taken = sorted(defined(others) & used - here)
        if taken:
            lines.append(f"from {_module(other, name)} import {', '.join(taken)}")
    return "\n".join(lines) + "\n\n\n" + text if lines else text


def _module(other: str, here: str) -> str:
    """What a file is imported as from another one."""
    name = other.removesuffix(".py").replace("/", ".")
    return name.removeprefix("pkg") if "/" in here else name


def _names(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}


def defined(text: str) -> set[str]:
    return set(re.findall(r"^(?:class |def )?([A-Za-z_]\w*)(?=\(| = |:)", text, re.MULTILINE))


def _loops(name: str, text: str) -> Iterable[Loop]:
    ends = {
        node.lineno: node.end_lineno or node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)
    }
    for number, line in enumerate(text.split("\n"), 1):
        if "#@" in line:
            yield Loop(name, number, ends[number], clean="#@@" in line)
