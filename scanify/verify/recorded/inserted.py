"""Insert calls into watched functions when their file is compiled, for interpreters without `sys.monitoring`.

A trace function would slow down every call of the program, by a factor of 1.4.
"""

from __future__ import annotations

import ast
import builtins
import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import contextmanager
from types import FrameType
from typing import Any

import equinox as eqx

from scanify.verify.profile.hooks import traced
from scanify.verify.recorded.functions import Function
from scanify.verify.versions.loaded import REWRITTEN, Version

_NAME = "__scanify_reached__"
_Lines = Mapping[Function, tuple[Set[int], Set[int]]]
_Hook = Callable[[FrameType, bool], None]
_PENDING: list[Any] = []  # calls that the interpreter makes later, perhaps after their run: none is freed


@contextmanager
def calls_inserted(version: Version, functions: Set[Function], lines: _Lines, hook: _Hook) -> Iterator[None]:
    """Compile files of a version with calls of `hook` in these functions, in this context.

    It takes the frame, and whether an iteration of a loop of `lines` begins rather than the function.
    """
    version.parse = lambda source, name: _inserted(source, name, functions, lines)
    setattr(builtins, _NAME, lambda iterates: hook(sys._getframe(1), iterates))
    try:
        yield
    finally:
        version.parse = None
        setattr(builtins, _NAME, lambda iterates: None)  # the functions stay, and are compared later


def _inserted(source: bytes, name: str, functions: Set[Function], lines: _Lines) -> ast.Module | bytes:
    file = os.path.realpath(name.removesuffix(REWRITTEN))
    if all(each.file != file for each in functions):
        return source
    tree = ast.parse(source, name)

    def visit(node: ast.AST, scope: str) -> None:
        for child in ast.iter_child_nodes(node):
            inner = scope
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{scope}.{child.name}" if scope else child.name
            visit(child, inner)
            heads, bodies = lines.get(Function(file, inner), ((), ()))
            if isinstance(child, ast.For) and child.target.lineno in heads and child.body[0].lineno in bodies:
                child.body.insert(0, _call(child.body[0], iterates=True))
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and Function(file, inner) in functions:
                at = int(ast.get_docstring(child, clean=False) is not None)
                child.body.insert(at, _call(child.body[min(at, len(child.body) - 1)], iterates=False))

    visit(tree, "")
    return tree


def _call(before: ast.stmt, *, iterates: bool) -> ast.stmt:
    """Return a call of the hook at the place of the following statement."""
    call = ast.Expr(ast.Call(ast.Name(_NAME, ast.Load()), [ast.Constant(iterates)], []))
    for node in ast.walk(call):
        if isinstance(node, ast.expr | ast.stmt):
            node.lineno = node.end_lineno = before.lineno
            node.col_offset = node.end_col_offset = before.col_offset
    return call


@contextmanager
def constructions_seen(see: Callable[[type, tuple[Any, ...], Mapping[str, Any]], object]) -> Iterator[None]:
    """Call `see` with the class and the arguments of each module constructed in this context."""
    owner: Any = next(kind for kind in type(eqx.Module).__mro__ if "__call__" in vars(kind))
    construct = owner.__call__

    def constructing(cls: type, /, *args: Any, **kwargs: Any) -> Any:
        see(cls, args, kwargs)
        return construct(cls, *args, **kwargs)

    owner.__call__ = constructing
    try:
        yield
    finally:
        owner.__call__ = construct


@contextmanager
def lines_followed(visit: Callable[[FrameType], None]) -> Iterator[Callable[[], None]]:
    """Yield a function that makes each later line of this and the main thread call `visit`, which may raise.

    An exception of a trace function ends tracing, so a profile function sets it again at the next call.
    """

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        if event in ("call", "line"):
            visit(frame)
        return trace

    def set_trace(*_: object) -> int:
        if sys.gettrace() is not trace:
            sys.settrace(trace)
            frame: FrameType | None = sys._getframe(1)
            while frame is not None:
                frame.f_trace, frame = trace, frame.f_back
        return 0

    def follow() -> None:
        if threading.current_thread() is not threading.main_thread():
            ctypes.pythonapi.Py_AddPendingCall(in_main, None)
        sys.setprofile(set_trace)
        set_trace()

    def follow_main(_: object) -> int:
        if _PENDING[-1] is in_main:
            follow()
        return 0

    in_main = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(follow_main)
    _PENDING.append(in_main)
    profile = sys.getprofile()
    with traced(sys.gettrace()):
        try:
            yield follow
        finally:
            sys.setprofile(profile)
            _PENDING.append(None)
