"""Run a probe: outputs, gradients, parameters, and the state that its mutation has changed."""

import builtins
import contextlib
import importlib
import io
import random
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from tests.probes.probe import Probe
from tests.random_projects.run import HOW, Numbers, Run

_LIBRARIES = (builtins, jax, jax.nn, jnp, jax.lax, eqx, eqx.nn)
_CLASSES = (eqx.nn.Linear, eqx.nn.LayerNorm, eqx.nn.MLP, eqx.nn.Dropout, eqx.nn.RMSNorm, eqx.nn.MultiheadAttention)


def run(probe: Probe, files: Mapping[str, str], how: str) -> Run:
    """Import the files of a probe, build its case, call it and differentiate it, as `tests/random_projects/run.py` does.

    The part "watched" is the state that its effect has changed.
    """
    printed = io.StringIO()
    random.seed(0)
    np.random.seed(0)
    with _unpatched(), _imported(files, probe) as (module, case), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with contextlib.redirect_stdout(printed):
                main, watched = module(probe.target), module(probe.watched or probe.target)
                model, arguments, *more = getattr(case(), probe.case)(main)
                if probe.poke:
                    getattr(main, probe.poke)(model)
                parts: dict[str, Any] = {"parameters": Numbers(eqx.filter(model, eqx.is_array))}
                outputs, gradients = HOW[how](_call, model, (arguments, *more))
            parts["outputs"] = outputs
            if gradients is not None:
                parts["gradients"] = Numbers(gradients[0])
            parts["printed"] = printed.getvalue()
            if probe.watch:
                parts["watched"] = eval(probe.watch, vars(watched))
            return Run(parts)
        except Exception as raised:  # every one is an answer to compare
            return Run({}, f"{type(raised).__name__}: {raised}", traceback.format_exc())


def _call(model: Any, arguments: Any, named: Any = None) -> Any:
    return model(*arguments, **(named or {}))


@contextlib.contextmanager
def _imported(files: Mapping[str, str], probe: Probe) -> Iterator[Any]:
    """Write the files to a folder. Give a function that imports one of them, and one that imports the case."""
    before = set(sys.modules)
    with tempfile.TemporaryDirectory() as name:
        for path, text in {**files, "probe_case.py": probe.case_text}.items():
            (Path(name) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(name) / path).write_text(text)
        sys.path.insert(0, name)
        importlib.invalidate_caches()
        dont_write, sys.dont_write_bytecode = sys.dont_write_bytecode, True

        def module(path: str) -> ModuleType:
            return importlib.import_module(path.removesuffix(".py").replace("/", "."))

        try:
            yield module, lambda: module("probe_case.py")
        finally:
            sys.dont_write_bytecode = dont_write
            sys.path.remove(name)
            for loaded in set(sys.modules) - before:
                if (getattr(sys.modules[loaded], "__file__", None) or "").startswith(name):
                    del sys.modules[loaded]


@contextlib.contextmanager
def _unpatched() -> Iterator[None]:
    """Undo afterwards what a probe has patched in libraries."""
    before = [dict(vars(each)) for each in _LIBRARIES]
    calls = [vars(each)["__call__"] for each in _CLASSES]
    try:
        yield
    finally:
        for library, names in zip(_LIBRARIES, before, strict=True):
            for name, value in names.items():
                if vars(library).get(name) is not value:
                    setattr(library, name, value)
        for cls, call in zip(_CLASSES, calls, strict=True):
            cls.__call__ = call
