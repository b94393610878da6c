"""Files as `ast` trees: where nodes stand in the text, what a module binds, syntax of later Pythons."""

import ast
from pathlib import Path

import pytest

from scanify.analysis.index import Index, Module
from scanify.source.file import Source


def module(text: str, path: str = "/p/model.py") -> Module:
    found = Index(Path("/p"), [Source(Path(path), text)]).module_at(Path(path))
    assert found is not None
    return found


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("before", ["", "é = 'ü'", "x = '\N{GRINNING FACE}\x0c'", "s = '''\u2028\n\x0b'''"])
def test_the_span_of_a_node_is_its_text(before: str, end: str) -> None:
    text = (
        end.join([before, "def f(x):", "    'ñ' ; y = g('\N{GRINNING FACE}', [a\tfor a in x])", "    return y"]) + end
    )
    found = module(text)
    call = next(node for node in ast.walk(found.tree) if isinstance(node, ast.Call))
    assert found.code(call) == "g('\N{GRINNING FACE}', [a\tfor a in x])"
    assert found.code(call.args[1]) == "[a\tfor a in x]"
    span = found.span(call)
    assert text[span.start : span.end] == found.code(call)
    assert found.line_of(span.start) == span.line == call.lineno
    assert found.line_start(span.line) <= span.start
    assert found.place(call).path == Path("/p/model.py")


def test_a_node_without_a_place_spans_its_parts() -> None:
    found = module("y = [f(a) for a in  walk(x) if a]\nwith open(p)  as q: pass\n")
    made = next(node for node in ast.walk(found.tree) if isinstance(node, ast.comprehension))
    item = next(node for node in ast.walk(found.tree) if isinstance(node, ast.withitem))
    assert found.code(made) == "a in  walk(x) if a"
    assert found.code(item) == "open(p)  as q"


def test_definitions_are_in_order_and_wherever_import_runs() -> None:
    found = module(
        "A = 1\nif A:\n    def B(): inner = 1\nelse:\n    class B: pass\n"
        "for C, (D, *E) in x: F: int = 2\ntry: pass\nexcept OSError as G: pass\n"
        "with o() as (H, I): A += 1\nJ: int\nprint(K := 3)\ndel A\n"
        "match x:\n    case {'a': L, **M} | [L, *M]: pass\n"
    )
    assert {name: len(each) for name, each in found.definitions.items()} == {
        **dict.fromkeys("CDEFGHIKLM", 1),
        "A": 3,
        "B": 2,
    }
    assert [type(each) for each in found.definitions["A"]] == [ast.Assign, ast.AugAssign, ast.Delete]


def test_imports_are_absolute() -> None:
    files = {
        "/p/src/pkg/__init__.py": "from .models import *\nfrom . import models as m\n",
        "/p/src/pkg/models/__init__.py": "",
        "/p/src/pkg/models/gpt.py": (
            "import a.b, a.c as ac\nfrom .. import nn\nfrom ..nn.layers import Block as B\nfrom .x import y\n"
            "if TYPE_CHECKING:\n    from typing import Any\ntry: import fast\nexcept ImportError: import slow as fast\n"
        ),
    }
    index = Index(Path("/p"), [Source(Path(path), text) for path, text in files.items()])
    gpt = index.module_at(Path("/p/src/pkg/models/gpt.py"))
    package = index.module_at(Path("/p/src/pkg/__init__.py"))
    assert gpt is not None and package is not None
    assert (gpt.name, gpt.is_package, package.name, package.is_package) == ("pkg.models.gpt", False, "pkg", True)
    assert gpt.imports == {
        "a": "a",
        "ac": "a.c",
        "nn": "pkg.nn",
        "B": "pkg.nn.layers.Block",
        "y": "pkg.models.x.y",
        "Any": "typing.Any",
        "fast": "slow",
    }
    assert [each.target for each in package.bindings.stars] == ["pkg.models"] and package.imports == {"m": "pkg.models"}


def test_what_cannot_be_parsed_is_a_problem_with_its_line() -> None:
    bad = Path("/p/bad.py")
    index = Index(Path("/p"), [Source(bad, "x = 1\ny = (\n"), Source(Path("/p/a.py"), "from bad import y\n")])
    assert index.module_at(bad) is None
    assert index.problems[bad].line == 2
    a = index.module_at(Path("/p/a.py"))
    assert a is not None and index.resolve(a, "y") is None  # code of the project that cannot be read, not a library
