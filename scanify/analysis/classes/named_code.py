"""What code of the project does under a name, in any class: the methods of that name, and stores into attributes."""

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property

from scanify.analysis.index.project import Index
from scanify.analysis.lower.nodes import nodes_in

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_ACTING = (ast.Global, ast.Nonlocal, ast.Delete, ast.With, ast.AsyncWith, ast.Await, ast.Yield, ast.YieldFrom)
_ASKING = frozenset({"len", "isinstance", "range", "tuple"})
_OPERATORS = (
    "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor lt le eq ne gt ge neg pos abs invert"
).split()
_CONVERSIONS = "array array_interface array_ufunc array_function jax_array index float int complex bool".split()
# What an operation may call of its operands: which it is depends on the class of the other operand, too.
_CALLED = tuple(f"__{prefix}{name}__" for name in (*_OPERATORS, *_CONVERSIONS) for prefix in ("", "r", "i"))


class NamedCode:
    """The code of a project by name, each question answered once."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self._acting: dict[str, bool] = {}

    def acts(self, name: str) -> bool:
        """Whether a class of the project has a method of that name that may do more than give a value of what its
        object and its arguments hold: by a call, a store, or a name of another function that it binds."""
        if name not in self._acting:
            self._acting[name] = any(map(_acts, self._methods_named(name)))
        return self._acting[name]

    def may_act(self, name: str) -> bool:
        """Whether a method of that name may do more than compute, as its class defines it or as code patches it."""
        return self.acts(name) or self.is_patched(name)

    @cached_property
    def operators_act(self) -> bool:
        """Whether an operator or a conversion of an object of the project may do more than compute."""
        return any(map(self.may_act, _CALLED))

    def _methods_named(self, name: str) -> Iterator[FunctionNode]:
        """The methods of that name of all classes of the project."""
        defined = f"def {name}("  # else files are parsed that nobody has to look at
        paths = (
            path for path in self.index.paths_with(name) if defined in getattr(self.index.source(path), "text", "")
        )
        homes = (home for path in paths if (home := self.index.module_at(path)) is not None)
        classes = (each for home in homes for each in nodes_in(home.tree) if isinstance(each, ast.ClassDef))
        yield from (each for cls in classes for each in functions_in(cls.body) if each.name == name)

    def is_patched(self, name: str) -> bool:
        """Whether code of the project may put something in the place of a method of that name."""
        return bool(self.index.patches.stores(name))


def _acts(method: FunctionNode) -> bool:
    for each in nodes_in(*method.body):
        call = isinstance(each, ast.Call) and getattr(each.func, "id", "") not in _ASKING
        store = isinstance(each, ast.Attribute | ast.Subscript) and not isinstance(each.ctx, ast.Load)
        if call or store or isinstance(each, _ACTING):
            return True
    return False


def functions_in(body: Sequence[ast.stmt]) -> Iterator[FunctionNode]:
    """The functions that a block defines, those in branches too."""
    for statement in body:
        if isinstance(statement, FunctionNode):
            yield statement
        elif not isinstance(statement, ast.ClassDef):
            parts = [*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())]
            blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
            for block in (*blocks, *(part.body for part in parts)):
                yield from functions_in(block)
