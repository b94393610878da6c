"""Running a project: what it computes, its gradients, its parameters, and what its consumers see."""

import contextlib
import functools
import io
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tests.soundness.evaluate import of


@dataclass(frozen=True)
class Run:
    """What came of a project: `parts` by name, or the `error` that it raised, with its `trace` for people."""

    parts: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    trace: str = ""


class Numbers:
    """The numbers of a tree of parameters in sorted order, which no layout of it changes."""

    def __init__(self, tree: Any) -> None:
        leaves = [np.ravel(np.asarray(leaf, np.float64)) for leaf in _arrays(tree)]
        self.sorted = np.sort(np.concatenate([np.zeros(0), *leaves]))


def run(files: Mapping[str, str], how: str) -> Run:
    """Execute the files, make the model, call it and differentiate it.

    `how`: "traced" traces the call as under jit and computes what the trace says, which is cheaper than compiling it;
    "jit" compiles it; "eager" calls it with arrays that hold values, and takes no gradients.
    """
    printed = io.StringIO()
    with _executed(files) as modules, warnings.catch_warnings(), contextlib.redirect_stdout(printed):
        warnings.simplefilter("ignore")
        try:
            main = modules["main"]
            model, arguments = main.make()
            parts: dict[str, Any] = {"parameters": Numbers(model)}
            if hasattr(main, "extra"):
                seen = main.extra(model, *arguments)
                parts["extra"] = jax.tree.map(_layout_free, seen, is_leaf=lambda v: isinstance(v, eqx.Module))
            outputs, gradients = HOW[how](main.call, model, arguments)
            parts["outputs"] = outputs
            if gradients is not None:
                parts["gradients"], parts["gradients of arguments"] = Numbers(gradients[0]), gradients[1]
            parts["printed"] = printed.getvalue()
            return Run(parts)
        except Exception as raised:  # every one is an answer to compare
            return Run({}, f"{type(raised).__name__}: {raised}", traceback.format_exc())


def _layout_free(value: Any) -> Any:
    return Numbers(value) if isinstance(value, eqx.Module) else value


def _arrays(tree: Any) -> list[Any]:
    return [
        leaf for leaf in jax.tree.leaves(tree) if eqx.is_inexact_array_like(leaf) or isinstance(leaf, np.ndarray | int)
    ]


@contextlib.contextmanager
def _executed(files: Mapping[str, str]) -> Iterator[dict[str, ModuleType]]:
    """The modules of some files, which can import each other for as long as they are used."""
    names = [name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in files]
    before = {name: sys.modules.get(name) for name in names}
    modules = {}
    try:
        for name, text in zip(names, files.values(), strict=True):
            modules[name] = sys.modules[name] = ModuleType(name)
            modules[name].__package__ = name if f"{name}/__init__.py" in files else name.rpartition(".")[0]
            modules[name].__dict__.update({"__path__": []} if f"{name}/__init__.py" in files else {})
            exec(compile(text, f"{name}.py", "exec"), modules[name].__dict__)
        yield modules
    finally:
        for name, module in before.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


# -- three ways to call a model ---------------------------------------------------------------------------------------


def _differentiated(call: Any, static: Any, arrays: Any) -> Any:
    @functools.partial(eqx.filter_value_and_grad, has_aux=True)
    def loss(given: Any) -> Any:
        model, arguments = eqx.combine(given, static)
        outputs = call(model, *arguments)
        floats = [leaf for leaf in jax.tree.leaves(outputs) if eqx.is_inexact_array(leaf)]
        sums = (jnp.sum(jnp.sin(leaf.astype(jnp.float32) * (1 + i))) for i, leaf in enumerate(floats))
        return sum(sums, jnp.zeros(())), outputs

    (_, outputs), gradients = loss(arrays)
    return outputs, gradients


def _traced(call: Any, model: Any, arguments: Any) -> Any:
    arrays, static = eqx.partition((model, arguments), eqx.is_array)
    flat, tree = jax.tree.flatten(arrays)
    around: list[Any] = []

    def traced(*flat: Any) -> Any:
        answer = _differentiated(call, static, jax.tree.unflatten(tree, flat))
        given, rest = eqx.partition(answer, eqx.is_array)
        around.append(rest)
        return given

    closed, shapes = jax.make_jaxpr(traced, return_shape=True)(*flat)
    values = jax.tree.unflatten(jax.tree.structure(shapes), of(closed, flat))
    return eqx.combine(values, around[0])


def _jitted(call: Any, model: Any, arguments: Any) -> Any:
    arrays, static = eqx.partition((model, arguments), eqx.is_array)
    return eqx.filter_jit(_differentiated)(call, static, arrays)


def _eager(call: Any, model: Any, arguments: Any) -> Any:
    return call(model, *arguments), None


HOW = {"traced": _traced, "jit": _jitted, "eager": _eager}
