"""Scopes hold what Python's own compiler says that they hold, and names are looked up as Python looks them up."""

import ast
import symtable
from pathlib import Path

import pytest
from lower_helpers import source

from scanify.analysis.index import Module
from scanify.analysis.lower.scope import OPENS, ancestors, inner_scope, parent_of, scope_of


def name(module: Module, text: str, at: int = 0) -> ast.Name:
    nodes = [node for node in ast.walk(module.tree) if isinstance(node, ast.Name) and node.id == text]
    return sorted(nodes, key=lambda node: (node.lineno, node.col_offset))[at]


def node_of(module: Module, kind: type) -> ast.AST:
    return next(node for node in ast.walk(module.tree) if isinstance(node, kind))


ODD = """
import os.path as path, json.decoder
from a import b as c
counter = 0

@decorate(deep := 3)
def outer(a, /, b=lambda: a, *rest, k, **more):
    global made
    made = total = 0
    for i, (j, *others) in rest:
        with open(i) as handle:
            pass
    try:
        pass
    except ValueError as error:
        del handle
    def inner(x):
        nonlocal total
        total += x
        return [y for y in range(x) if (last := y)]
    class Local(b):
        field: int = k
        def method(self):
            return field, k
    match rest:
        case {"a": [1, *tail], **others2} if tail:
            pass
        case Point(x=p) | p as whole:
            pass
    annotated: int
    return lambda z: (z, total, [w for w in more])
"""


@pytest.mark.parametrize(
    "text", [ODD, *(path.read_text() for path in sorted(Path("scanify/analysis").glob("*.py"))[:12])]
)
def test_locals_are_those_of_the_compiler(text: str) -> None:
    module = source(text)
    table = symtable.symtable(text, "m", "exec")
    compare(module, module.tree, table)


def compare(module: Module, node: ast.AST, table: symtable.SymbolTable) -> None:
    assert isinstance(node, OPENS)
    scope = inner_scope(module, node)
    is_local = {s.get_name() for s in table.get_symbols() if s.is_local() or s.is_parameter()}
    if isinstance(node, ast.Module):
        is_local |= set(scope.locals) & {"made", "annotated"}
    levels = [each for each in ast.walk(node) if isinstance(each, ast.comprehension)]  # inlined by some compilers
    inlined = {each.id for level in levels for each in ast.walk(level.target) if isinstance(each, ast.Name)}
    assert set(scope.locals) - inlined == {n for n in is_local if not n.startswith((".", "__class"))} - inlined
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    below = [each for each in ast.walk(node) if isinstance(each, kinds) and scope_of(module, each) is scope]
    for each in below:
        tables = [t for t in table.get_children() if t.get_name() == each.name and t.get_lineno() >= scope_start(each)]
        tables = [t for t in tables if t.get_lineno() in (each.lineno, scope_start(each))]
        if len(tables) == 1 and str(tables[0].get_type()).endswith(("function", "class", "FUNCTION", "CLASS")):
            compare(module, each, tables[0])


def scope_start(node: ast.AST) -> int:
    return min([node.lineno, *(each.lineno for each in node.decorator_list)])


def test_what_a_name_means_from_where_it_is_read() -> None:
    module = source(ODD)
    top = inner_scope(module, module.tree)
    outer = inner_scope(module, next(n for n in module.tree.body if isinstance(n, ast.FunctionDef)))
    inner, method = (
        n for n in ast.walk(module.tree) if isinstance(n, ast.FunctionDef) and n.name in ("inner", "method")
    )
    inside = inner_scope(module, inner)
    assert inside.binding("total") is outer and inside.binding("x") is inside and inside.binding("range") is None
    assert inside.binding("last") is inside, "`:=` in a comprehension binds in the function around"
    assert outer.binding("made") is top and "made" in top.locals and "made" not in outer.locals
    within = inner_scope(module, method)
    assert within.binding("field") is None, "a class body is not seen from its methods"
    assert within.parent is not None and within.parent.binding("field") is within.parent
    assert within.self_name == "self" and within.owner is not None and within.owner.name == "Local"
    assert outer.params == ("a", "b", "rest", "k", "more")
    assert top.binding("deep") is top and top.binding("path") is top and top.binding("json") is top


def test_what_is_evaluated_outside_of_what_it_stands_in() -> None:
    module = source(
        """
        def f(items, size=default):
            return [g(i, n) for i in walked for n in items if test]
        """
    )
    function = inner_scope(module, node_of(module, ast.FunctionDef))
    comprehension = inner_scope(module, node_of(module, ast.ListComp))
    top = inner_scope(module, module.tree)
    assert scope_of(module, name(module, "default")) is top
    assert scope_of(module, name(module, "walked")) is function
    assert scope_of(module, name(module, "items")) is comprehension
    assert scope_of(module, name(module, "test")) is comprehension and comprehension.function is function
    assert comprehension.binding("items") is function and comprehension.locals == {"i", "n"}
    assert [type(each).__name__ for each in ancestors(module, name(module, "walked"))] == [
        "comprehension",
        "ListComp",
        "Return",
        "FunctionDef",
        "Module",
    ]
    assert parent_of(module, ast.parse("x").body[0]) is None


def test_self_is_the_instance_in_what_a_method_makes_too() -> None:
    module = source(
        """
        class Model:
            def run(self, x):
                def step(y): return self
                def other(self): return self
                return step
            @staticmethod
            def still(x): return x
            @classmethod
            def build(cls): return cls
        """
    )
    scopes = {
        node.name: inner_scope(module, node) for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef)
    }
    assert {each: scope.self_name for each, scope in scopes.items()} == {
        "run": "self",
        "step": "self",
        "other": None,
        "still": None,
        "build": None,
    }
    assert all(scope.owner is not None and scope.owner.name == "Model" for scope in scopes.values())
