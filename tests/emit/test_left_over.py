"""What a rewrite leaves without a reader: imports and names that go, and those that must stay."""

from pathlib import Path

import pytest

from scanify.emit.apply import apply_edits
from scanify.emit.names.dead_stores import dead_stores
from scanify.emit.names.unused_imports import unused_imports

PATH = Path("model.py")
USE, NONE = "x = reduce(f, y)\n", "x = y\n"

IMPORTS = {
    "from functools import reduce\n": "",
    "from functools import partial, reduce\n": "from functools import partial\n",
    "from functools import (\n    partial,\n    reduce,\n)\n": "from functools import (\n    partial,\n)\n",
    "import math\n\nfrom functools import reduce\n\nimport jax\n": "import math\n\nimport jax\n",
    '"""Doc."""\n\nfrom functools import reduce\n\n\n': '"""Doc."""\n\n\n',
    "from functools import reduce  # noqa: F401\n": None,
    "from functools import reduce  # kept\n": None,
    "from functools import reduce as reduce\n": None,
    'from functools import reduce\n\n__all__ = ["reduce"]\n': None,
    "from functools import *\n": None,
    "try:\n    from functools import reduce\nexcept ImportError:\n    reduce = None\n": None,
    'from functools import reduce\n\ny: "list[reduce]" = []\n': None,
    'def f():\n    """>>> reduce(f, y)"""\n\nfrom functools import reduce\n': None,
    "from functools import reduce\n\nz = reduce\n": None,
}


@pytest.mark.parametrize("text", IMPORTS)
def test_an_import_goes_where_nothing_can_read_it(text: str) -> None:
    before = text + USE
    edits = unused_imports(PATH, {PATH: before}, text + NONE)
    expected = IMPORTS[text]
    assert apply_edits(before, edits) == (text if expected is None else expected) + USE


def test_an_import_stays_where_another_file_takes_it_from_or_it_was_unused_before() -> None:
    text = "from functools import reduce\n"
    other = {Path("other.py"): "from model import reduce\n"}
    assert not unused_imports(PATH, {PATH: text + USE, **other}, text + NONE)
    assert unused_imports(PATH, {PATH: text + USE, Path("other.py"): "import model\n"}, text + NONE)
    assert not unused_imports(PATH, {PATH: text + NONE}, text + NONE)
    assert not unused_imports(Path("__init__.py"), {Path("__init__.py"): text + USE}, text + NONE)


STORES = {
    "    i = 0\n    z = 1\n": "    z = 1\n",
    "    i = 0\n\n    z = 1\n": "    z = 1\n",
    "    z = i = 0\n": "    z = 0\n",
    "    i = make()\n    z = 1\n": "    i = make()\n    z = 1\n",
    "    i = 0  # counts\n    z = 1\n": "    i = 0  # counts\n    z = 1\n",
    "    i = 0\n    z = lambda: i\n": "    i = 0\n    z = lambda: i\n",
    "    i = 0\n    z = locals()\n": "    i = 0\n    z = locals()\n",
}


@pytest.mark.parametrize("text", STORES)
def test_a_name_goes_that_only_the_loop_read(text: str) -> None:
    before = f"def f(y):\n{text}    for x in y:\n        i += x\n    return z\n"
    after = f"def f(y):\n{text}    def g(i):\n        i += 1\n    return z\n"
    edits = dead_stores(PATH, before, after)
    assert apply_edits(after, edits) == f"def f(y):\n{STORES[text]}    def g(i):\n        i += 1\n    return z\n"
    assert not dead_stores(PATH, after, after)


READ_IN_THE_LOOP = [
    "x = x / i\n{0}_ = [i for i in range(3)]",
    "x = x / i\n{0}_ = {{i: j for i, j in x}}",
    "x = x + sum(i for i in range(i))",
    "x = x + (lambda i=i: i)()",
    "x = x / i\n{0}_ = (lambda i: i)(2)",
    "def h(a, i=i):\n{0}    return a * i\n{0}x = h(x)",
    "@i\n{0}def h(i):\n{0}    return i\n{0}x = h(x)",
]


@pytest.mark.parametrize("body", READ_IN_THE_LOOP)
def test_a_name_stays_that_the_function_made_of_the_loop_reads_beside_others_of_that_name(body: str) -> None:
    store = "def f(x, y):\n    i = 10\n    z = 1\n"
    before = f"{store}    for z in y:\n        {body.format('        ')}\n    return x\n"
    after = f"{store}    def g(z, x):\n        {body.format('        ')}\n        return x\n    return fold(g)(x)\n"
    assert not [each for each in dead_stores(PATH, before, after) if "i = 10" in after[each.start : each.end]]


@pytest.mark.parametrize(
    "body",
    [
        "(i := 2)\n        x = x * i",
        "x = [j for j in x if (i := j)] and i",
        "from h import i\n        x = i(x)",
        "try:\n            pass\n        except E as i:\n            x = i",
        "match x:\n            case [i, *_]:\n                x = i",
    ],
)
def test_a_name_goes_that_the_function_made_of_the_loop_binds_itself(body: str) -> None:
    store = "def f(x, y):\n    i = 10\n    z = 1\n"
    before = f"{store}    for z in y:\n        {body}\n    return x\n"
    after = f"{store}    def g(z, x):\n        {body}\n        return x\n    return fold(g)(x)\n"
    assert "i = 10" not in apply_edits(after, dead_stores(PATH, before, after))
