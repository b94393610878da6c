"""Compare objects that come from one project, loaded twice.

Objects are compared part by part, by the closed table in `parts`. An object with two places in one version has the same
two places in the other. Functions are the same if their code is, and all values that the code finds by name are.
Classes of the project are compared completely. No code of the user is called.
"""

from __future__ import annotations

import dataclasses
import types
from dataclasses import dataclass
from typing import Any

from scanify.verify.objects.classes import class_parts
from scanify.verify.objects.parts import PLAIN, Opaque, Parts, kind_in_words, may_be_written, parts
from scanify.verify.objects.reaches import chains, reads_unnamed
from scanify.verify.objects.statics import Code, qualified
from scanify.verify.values.arrays import show_value

_MISSING = object()


@dataclass(frozen=True)
class Difference:
    """Path and description of a difference. `certain` is false if the objects are only not seen to be the same."""

    path: str
    text: str
    certain: bool

    def __str__(self) -> str:
        return f"{self.path.lstrip('.')}: {self.text}" if self.path else self.text


def difference(before: Any, after: Any, traced: frozenset[Any] | None = None) -> Difference | None:
    """Return the first part in which two objects differ or are not understood; None if they are the same.

    `traced` are functions and classes whose traces are compared, so that their code need not be; None if nothing is
    called. Only with `traced`, two `object()`s are the same anywhere; otherwise only if code finds both under one name.
    """
    try:
        return _Walk(traced).visit(before, after, "")
    except RecursionError:
        return Difference("", "objects that hold too many others in one another are not compared", certain=False)


def same_code_and_names(before: types.FunctionType, after: types.FunctionType) -> bool:
    """True if two functions are the same up to closures and defaults."""
    return difference(Code(before), Code(after)) is None


class _Walk:
    """One comparison. Pairs in progress count as the same, because objects may contain each other."""

    def __init__(self, traced: frozenset[Any] | None) -> None:
        self.sentinels, self.traced = traced is not None, traced or frozenset()
        self.seen: set[tuple[int, int]] = set()
        self.partners: tuple[dict[int, int], dict[int, int]] = {}, {}
        self.alive: list[Any] = []

    def visit(self, a: Any, b: Any, path: str) -> Difference | None:
        if type(a) not in PLAIN and (may_be_written(a) or may_be_written(b)):
            partners = self.partners[0].setdefault(id(a), id(b)), self.partners[1].setdefault(id(b), id(a))
            if partners != (id(b), id(a)):
                return Difference(path, "one version holds one object where the other holds two", certain=True)
        if a is b or (id(a), id(b)) in self.seen:
            return None
        self.seen.add((id(a), id(b)))
        self.alive += [a, b]
        if self.sentinels and type(a) is type(b) is object:
            return None
        if isinstance(a, Code) and isinstance(b, Code) and a.function in self.traced:
            return None
        if isinstance(a, type) and isinstance(b, type):
            return self._class(a, b, path)
        if qualified(type(a)) != qualified(type(b)):
            return _differ(a, b, path)
        first, second = parts(a), parts(b)
        if first is None or second is None:
            what = a.text if isinstance(a, Opaque) else kind_in_words(a)
            return Difference(path, f"{what} is not understood", certain=False)
        if isinstance(a, types.CodeType):
            same = first.plain == second.plain and self._inner(a, b, first, second, path) is None
            return None if same else Difference(path, f"the code of {a.co_qualname} is not the same", certain=False)
        if first.plain != second.plain:
            return _differ(a, b, path)
        return self._inner(a, b, first, second, path)

    def _inner(self, a: Any, b: Any, first: Parts, second: Parts, path: str) -> Difference | None:
        if isinstance(a, set | frozenset):
            matched = self._one_to_one(list(a), list(b))
            if not matched:
                return _differ(a, b, path)
        elif first.inner.keys() != second.inner.keys():
            return _differ(a, b, path)
        for name, held in first.inner.items():
            found = self.visit(held, second.inner[name], path + name)
            if found is not None:
                return _in_code(found) if name == ".__annotations__" else found
        if isinstance(a, Code):
            return self._names(a.function, b.function, path)
        return None if type(a) is type(b) else self.visit(type(a), type(b), path)

    def _one_to_one(self, a: list[Any], b: list[Any]) -> bool:
        """True if each element has its own equal element in the other set."""
        for x in a:
            at = next((i for i, y in enumerate(b) if self._try(x, y)), None)
            if at is None:
                return False
            del b[at]
        return True

    def _try(self, a: Any, b: Any) -> bool:
        kept = set(self.seen), (dict(self.partners[0]), dict(self.partners[1]))
        if self.visit(a, b, "") is None:
            return True
        self.seen, self.partners = kept
        return False

    def _class(self, a: type, b: type, path: str) -> Difference | None:
        where = f"{path} (class {a.__qualname__})"
        if qualified(a) != qualified(b):
            return _differ(a, b, path)
        if a in self.traced:
            return None
        first, second = class_parts(a), class_parts(b)
        if first is None or second is None:
            return Difference(where, "its annotations cannot be evaluated", certain=False)
        for name in [*first, *second]:
            found = self.visit(first.get(name, _MISSING), second.get(name, _MISSING), where + name)
            if found is not None:
                return _in_code(found)
        methods = _method(a), _method(b)
        return None if None in methods else self._texts(first[".__annotations__"], methods[0], methods[1], where)

    def _names(self, a: types.FunctionType, b: types.FunctionType, path: str) -> Difference | None:
        """Compare the values that code finds by its names, and the attributes that it reads from modules."""
        if reads_unnamed(a.__code__):
            return Difference(path, f"the function {a.__qualname__} may read what it does not name", certain=False)
        return self._named(chains(a.__code__), a, b, path) or self._texts(a.__annotations__, a, b, path)

    def _texts(self, annotations: dict[str, Any], a: Any, b: Any, path: str) -> Difference | None:
        """Compare the values that annotations given as text find in the modules of these two functions."""
        for text in annotations.values():
            try:
                named = chains(compile(text, "", "eval")) if isinstance(text, str) else ()
            except SyntaxError:  # a text for readers
                named = ()
            found = self._named(named, a, b, f"{path}.__annotations__")
            if found is not None:
                return found
        return None

    def _named(self, chains: tuple[tuple[str, ...], ...], a: Any, b: Any, path: str) -> Difference | None:
        for names in chains:
            found = self._found(a.__globals__, b.__globals__, names, f"{path} ({'.'.join(names)})")
            if found is not None:
                return _in_code(found)
        return None

    def _found(self, a: Any, b: Any, names: tuple[str, ...], path: str) -> Difference | None:
        for name in names:
            a, b = a.get(name, _MISSING), b.get(name, _MISSING)
            if type(a) is not types.ModuleType or type(b) is not types.ModuleType or a is b:
                return self._value(a, b, path)
            a, b = vars(a), vars(b)
            if "__getattr__" in a or "__getattr__" in b:
                return Difference(path, f"the module {name} makes up its attributes", certain=False)
        return Difference(path, f"the module {names[-1]} is read as a whole", certain=False)

    def _value(self, a: Any, b: Any, path: str) -> Difference | None:
        """Compare two values; sentinels are the same if code finds them under the same name."""
        sentinels = type(a) is object and type(b) is object
        if sentinels and _MISSING not in (a, b):
            self.seen.add((id(a), id(b)))
        return self.visit(a, b, path)


def _method(kind: type) -> types.FunctionType | None:
    """Return a function of a class whose global names are those of the class's module; None without any."""
    functions = (each for each in vars(kind).values() if isinstance(each, types.FunctionType))
    return next((each for each in functions if each.__module__ == kind.__module__), None)


def _differ(a: Any, b: Any, path: str) -> Difference:
    shown = [_shown(each) for each in (a, b)]
    if shown[0] == shown[1]:
        shown = [f"{text} of {qualified(type(each))}" for text, each in zip(shown, (a, b), strict=True)]
    if shown[0] == shown[1]:
        return Difference(path, f"the original and the rewritten version hold different {shown[0]}", certain=True)
    return Difference(path, f"{shown[0]} in the original, {shown[1]} in the rewritten version", certain=True)


def _shown(value: Any) -> str:
    return "nothing" if value is _MISSING else show_value(value)


def _in_code(found: Difference) -> Difference:
    return dataclasses.replace(found, certain=False)
