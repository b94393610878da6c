"""`--like FILE:FUNCTION`: build the tree that a checkpoint holds, without its arrays."""

import importlib
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scanify.errors import ScanifyError
from scanify.on_call import on_call
from scanify.verify.cases.case import CaseSpec, article, parse_case
from scanify.verify.versions.project import module_name, search_places

with_known_axes = on_call("scanify.nn.members_first", "with_known_axes")  # needs jax

EXAMPLE = "def like(): return GPT(CONFIG, key=jax.random.key(0))"


def tree_like(text: str, model: str | None) -> Any:
    """Return the result of `FILE:FUNCTION` with shapes and dtypes in place of arrays.

    The function takes no arguments and returns the tree; or it is a case, which takes the module of `model`, and the
    tree is the first element of its result. Raises ScanifyError for any other function, or if there is none.
    """
    spec = parse_case(text)
    function = _function(spec, model)
    import equinox as eqx
    import jax
    import numpy as np

    held: list[Any] = []

    def built() -> Any:
        tree = function()
        held[:] = jax.tree.leaves(tree)
        return tree

    def outline(shape: Any, leaf: Any) -> Any:
        own = isinstance(leaf, np.ndarray | np.generic)  # may have a dtype that jax does not support
        return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype) if own else shape

    def outlines() -> Any:
        leaves, treedef = jax.tree.flatten(eqx.filter_eval_shape(built))
        return treedef.unflatten(map(outline, leaves, held))

    try:
        tree = outlines()
    except Exception as error:
        raise ScanifyError(
            f"{text}: could not be run without weights (under equinox.filter_eval_shape): "
            f"{type(error).__name__}: {error}"
        ) from error
    try:
        return with_known_axes(tree, outlines)
    except ValueError as error:
        raise ScanifyError(f"{text}: {error}") from None


def _function(spec: CaseSpec, model: str | None) -> Callable[[], Any]:
    files = [spec.path, *([Path(model).absolute()] if model is not None else [])]
    if model is not None and not files[1].is_file():
        raise ScanifyError(f"expected a Python file for --model, got {model}, which does not exist")
    sys.path[:0] = [str(place) for place in search_places(files[1:], spec.path) if str(place) not in sys.path]
    found = getattr(_imported(spec.path, spec.text), spec.function, None)
    if not inspect.isfunction(found):
        raise ScanifyError(f"{spec.text}: expected a function, got {article(found)}, such as\n    {EXAMPLE}")
    needed = [each for each in inspect.signature(found).parameters.values() if each.default is each.empty]
    needed = [each for each in needed if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    if not needed:
        return found
    if len(needed) > 1 or needed[0].kind is needed[0].KEYWORD_ONLY:
        signature = f"{spec.function}{inspect.signature(found)}"
        raise ScanifyError(f"{spec.text}: expected a function without arguments, or a case; it is {signature}")
    if model is None:
        raise ScanifyError(f"{spec.text} takes a module, as a case does: name the file of the model with --model FILE")
    module = _imported(files[1], model)
    return lambda: found(module)[0]


def _imported(path: Path, text: str) -> Any:
    name = module_name(path)
    try:
        module = importlib.import_module(name)
    except Exception as error:
        raise ScanifyError(f"{text}: {path} cannot be imported: {type(error).__name__}: {error}") from error
    there = getattr(module, "__file__", None)
    if there is None or Path(there).resolve() != path.resolve():
        raise ScanifyError(
            f"{text}: {path} would be imported as {name!r}, and that is {there}; run it in another folder"
        )
    return module
