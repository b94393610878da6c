"""What counts as harmless computes the same on a stack as on the list; what counts as a watcher does not."""

import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from scanify.analysis.facts import Place, Span
from scanify.analysis.index import Index
from scanify.analysis.watchers.find import given_models, watchers
from scanify.nn import ArrayStacked
from scanify.source.file import Source
from tests.watchers.trees import HARMLESS, NOT_SHOWN, READS, program

PATH = Path("/project/train.py")
MODEL = "import equinox as eqx\n\n\nclass Block(eqx.Module):\n    w: object\n    bias: object\n"


class Block(eqx.Module):
    w: jax.Array
    bias: jax.Array


class Model(eqx.Module):
    layers: Any
    head: jax.Array


@functools.cache
def models() -> tuple[Model, Model]:
    """One model with a list of layers, and with a stack of the same."""
    made = [Block(jr.normal(k, (3, 4)), jr.normal(k, (4,)) + 1) for k in jr.split(jr.key(1), 3)]
    head = jnp.arange(4.0) - 1.2
    return Model(made, head), Model(ArrayStacked.of(made), head)


def found(text: str) -> list[str]:
    """What is read in a program."""
    source = program(text).replace("KEY =", "from model import Block\n\nKEY =")
    index = Index(PATH.parent, [Source(PATH, source), Source(PATH.parent / "model.py", MODEL)])
    place = Place(PATH, Span(0, 0, 1, 1))
    return [each.reads for each in (*watchers(index), *given_models(index, place, {"layers"}))]


def loaded(text: str, folder: Path) -> ModuleType:
    file = folder / "looks.py"
    file.write_text(program(text))
    spec = importlib.util.spec_from_file_location("looks", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.__dict__["Block"] = Block
    return module


def unstacked(value: Any) -> Any:
    """A result with stacks of layers as the lists that they stand for."""
    if isinstance(value, Model) and isinstance(value.layers, ArrayStacked):
        return Model(list(value.layers), value.head)
    return value


def same(one: Any, other: Any) -> bool:
    one, other = unstacked(one), unstacked(other)
    if jax.tree.structure(one) != jax.tree.structure(other):
        return False
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        if not (
            a == b if isinstance(a, str | np.dtype) else np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-5)
        ):
            return False
    return True


def both(text: str, folder: Path) -> bool:
    """Whether the function gives the same for the list of layers and for the stack of them."""
    look = loaded(text, folder).look
    plain, stacked = models()
    expected = look(plain)
    try:
        return same(expected, look(stacked))
    except Exception:
        return False


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_harmless_computes_the_same(text: str, tmp_path: Path) -> None:
    assert found(text) == []
    assert both(text, tmp_path)


@pytest.mark.parametrize("text", NOT_SHOWN)
def test_what_is_not_understood_is_named_though_it_computes_the_same(text: str, tmp_path: Path) -> None:
    assert found(text) != []
    assert both(text, tmp_path)


@pytest.mark.parametrize("text", READS)
def test_what_reads_leaves_is_found_and_computes_something_else(text: str, tmp_path: Path) -> None:
    assert found(text) != []
    assert not both(text, tmp_path)


def test_modules_are_not_left_behind() -> None:
    assert "looks" not in sys.modules
