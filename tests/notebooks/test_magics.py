"""What IPython alone reads: kept, out of the way of what Python reads, and never taken for nothing."""

import ast
import json

import pytest

from scanify.errors import Exit
from scanify.source.notebook.magics import names_in_magics, original, readable, unclear
from tests.command import Tool
from tests.notebooks.notebook import BLOCK, IMPORTS, LINE, MODEL, code, dumped, notebook, sources

PLAIN = """\
x = 7
y = x % 3
text = '''
%matplotlib inline
!ls
what?
'''
z = (x
     % 2)
w = x \\
    % 5
s = 'why?'  # ? !ls
d = {'a': '= !', "b": "= %"}
f = f'{x=!r} {x!s:>{y}}'
"""


@pytest.mark.parametrize("source", ["", "\n", "x = 1", PLAIN, PLAIN * 2])
def test_python_is_left_as_it_is(source: str) -> None:
    lines = source.split("\n")
    assert readable(lines) == lines


@pytest.mark.parametrize(
    ("source", "magics"),
    [
        pytest.param("%matplotlib inline\nx = 1", [0], id="a line"),
        pytest.param("!pip install \\\n  equinox\nx = 1", [0, 1], id="a command on two lines"),
        pytest.param("files = !ls\nprint(files)", [0], id="a command with a name"),
        pytest.param("a = b = %env HOME", [0], id="a magic with two names"),
        pytest.param("x = !find \\\n  .\ny = 1", [0, 1], id="a command with a name on two lines"),
        pytest.param("jax.jit?\n?jax\njax??", [0, 1, 2], id="help"),
        pytest.param("if x:\n    %time f(x)\n    !ls\nelse:\n    !ls\n", [1, 2, 4], id="in a block"),
        pytest.param("def f():\n    !ls\n", [1], id="all of a block"),
        pytest.param("%timeit -n 10 -r3 f(x)\n%time y = f(x)", [0, 1], id="timers"),
        pytest.param("%time\n%timeit -n 3", [0, 1], id="timers of nothing"),
        pytest.param("%prun if x: pass", [0], id="a timer of what cannot be a part of a line"),
        pytest.param("\n%%time\nfor x in y:\n    %time x", [1, 3], id="a cell of Python"),
        pytest.param("%%bash\nfor x in *; do\n  echo $x\ndone\n", [0, 1, 2, 3, 4], id="a cell of something else"),
        pytest.param("%%unknown a b\nx = 1", [0, 1], id="a cell of who knows what"),
        pytest.param(f"{PLAIN}!ls\n{PLAIN}", [PLAIN.count("\n")], id="among Python that looks like it"),
        pytest.param("x = '''\n''' ; y = !ls", [1], id="behind the end of a text"),
    ],
)
def test_magics_become_something_that_python_reads(source: str, magics: list[int]) -> None:
    before = source.split("\n")
    lines = readable(before)
    ast.parse("\n".join(lines))
    assert [number for number, line in enumerate(lines) if line != before[number]] == magics
    assert [original(line) for line in lines] == before
    assert readable(lines) != before or not magics


def test_what_a_timer_runs_is_still_seen() -> None:
    (line,) = readable(["%timeit -n 10 x = f(y)"])
    assert ast.unparse(ast.parse(line)) == "x = f(y)"
    assert unclear(line) is None
    assert {"timeit", "f", "y"} <= names_in_magics(line)


@pytest.mark.parametrize(
    ("source", "known"),
    [
        ("%matplotlib inline", True),
        ("%autoreload 2", True),
        ("!python train.py", True),
        ("jax?", True),
        ("%time f(x)", True),
        ("%%bash\nls", True),
        ("%%capture out\nf(x)", True),
        ("%run setup.py", False),
        ("x = %unknown 3", False),
        ("%prun if x: y = 1", False),
        ("%%unknown\nx = 1", False),
    ],
)
def test_what_a_magic_does_is_known_or_asked_for(source: str, known: bool) -> None:
    assert all(unclear(line) is None for line in readable(source.split("\n"))) == known


class TestInCommands:
    def cells(self, tool: Tool, *cells: str) -> None:
        tool.write("m.ipynb", dumped(notebook([code(cell) for cell in cells])))

    def test_harmless_ones_stay_and_the_fix_is_safe(self, tool: Tool) -> None:
        setup = f"%load_ext autoreload\n!pip install \\\n  equinox\n{IMPORTS}"
        self.cells(tool, setup, f"%%time\n{BLOCK}", f"%%capture out\n{MODEL}", "Model?\nx = !ls\n%time Block")
        before = sources((tool.folder / "m.ipynb").read_bytes())
        assert tool("rewrite", "m.ipynb").err.endswith("1 loop rewritten in 1 file.\n")
        after = sources((tool.folder / "m.ipynb").read_bytes())
        assert after[0] == f"{setup}\nfrom scanify.nn import ArrayStacked"
        assert after[2].startswith("%%capture out\nclass Model") and "fold" in after[2]
        assert (after[1], after[3]) == (before[1], before[3])

    def test_one_that_may_define_anything_makes_the_fix_unsafe(self, tool: Tool) -> None:
        self.cells(tool, IMPORTS, BLOCK, MODEL, "x = 1\n%run other.py")
        result = tool("check", "m.ipynb")
        assert "unsafe (body): `%run other.py` (m.ipynb:cell 4:2) changes nothing that the loop uses" in result.out
        result = tool("rewrite", "m.ipynb")
        assert "no case can import a notebook; write it unverified with --unsafe (--unsafe --diff shows it)" in result.err
        assert "fold" not in sources((tool.folder / "m.ipynb").read_bytes())[2]

    @pytest.mark.parametrize("at", ["x = layer(x)\n", "return x"])
    @pytest.mark.parametrize("magic", ["!echo {x}", "%time print(x)", "x?"])
    def test_one_in_the_code_of_the_loop_is_a_reason_to_leave_it(self, tool: Tool, at: str, magic: str) -> None:
        indent = "            " if "layer" in at else "        "
        self.cells(tool, IMPORTS, BLOCK, MODEL.replace(at, f"{magic}\n{indent}{at}"))
        before = (tool.folder / "m.ipynb").read_bytes()
        (loop,) = json.loads(tool("check", "--format", "json", "m.ipynb").out)["loops"]
        assert (loop["status"], loop["cell"], loop["line"]) == ("refused", 3, LINE)
        assert tool("rewrite", "--unsafe", "m.ipynb").code == Exit.OK
        assert (tool.folder / "m.ipynb").read_bytes() == before

    def test_an_import_that_a_magic_uses_stays(self, tool: Tool) -> None:
        folded = MODEL.replace(
            "        for layer in self.layers:\n            x = layer(x)\n        return x",
            "        for layer in itertools.chain(self.layers, self.layers):\n            x = layer(x)\n        return x",
        )
        for magic, left in (("!echo", 0), ("%time itertools.count", 1), ("itertools?", 1)):
            self.cells(tool, f"import itertools\n{IMPORTS}", BLOCK, folded, magic)
            assert tool("rewrite", "--unsafe", "m.ipynb").code == Exit.OK
            assert sources((tool.folder / "m.ipynb").read_bytes())[0].count("import itertools") == left, magic
