"""Sources that Python reads and that are hard to follow: endless, deep, cyclic, or of rare encodings."""

from tests.bad_inputs.bad_input import BadInput
from tests.command import MODEL

HEAD = "import equinox as eqx\n\n\n"
LOOP = "    def __call__(self, x):\n        for layer in self.layers:\n            x = layer(x)\n        return x\n"


def program(
    what: str, text: str | bytes, code: int | tuple[int, ...] = 1, says: str = "1 loop", run: str = "", **files: str
) -> BadInput:
    """One that `check` is asked about, beside a good model in the folder of a name of its own."""
    every = {"odd.py": text, **{f"{name}.py": each for name, each in files.items()}}
    return BadInput(what, run or "timeout 100 bash -c 'scanify check'", code, says, {"good.py": MODEL, **every})


def rewritten(what: str, text: str | bytes, says: str = "1 loop rewritten", code: int = 0) -> BadInput:
    return BadInput(what, "scanify rewrite model.py", code, says, {"model.py": text}, changes=("model.py",))


PROGRAMS = [
    program(
        "an elif of five thousand branches",
        "if x == 0:\n    y = 0\n" + "".join(f"elif x == {n}:\n    y = {n}\n" for n in range(5000)),
    ),
    program(
        "a thousand functions in functions",
        "".join(" " * at + f"def f{at}():\n" for at in range(90)) + " " * 90 + "pass\n",
    ),
    program("an attribute of an attribute, five thousand deep", "y = x" + ".a" * 5000 + "\n"),
    program("calls of calls, three thousand deep", "y = x" + "()" * 3000 + "\n"),
    program("five thousand texts side by side", "y = (" + "'a' " * 5000 + ")\n"),
    program("three thousand decorators", "@a\n" * 3000 + "def f(): pass\n"),
    program("a hundred thousand short lines", "x = 1\n" * 100_000),
    program("a number of ten thousand digits", "x = " + "9" * 10_000 + "\n"),
    program("a class that inherits itself", HEAD + "class A(A):\n    layers: list\n\n" + LOOP, says="loop"),
    program(
        "classes that inherit each other",
        HEAD + "class A(B):\n    pass\n\n\nclass B(A):\n    layers: list\n\n" + LOOP,
        says="loop",
    ),
    program(
        "a module that imports itself", "from odd import *\nimport odd\nfrom odd import odd as odd\nx = odd.odd.odd\n"
    ),
    program("modules that import each other", "from other import *\ny = x\n", other="from odd import *\nx = y\n"),
    program(
        "names that stand for each other",
        "a = b\nb = a\n\n\ndef f(z):\n    for w in a:\n        z = w(z)\n    return z\n",
        says="loop",
    ),
    program(
        "a constructor that builds its own class",
        HEAD + "class A(eqx.Module):\n    layers: list\n\n    def __init__(self, n):\n"
        "        self.layers = [A(n - 1) for _ in range(n)]\n\n" + LOOP,
        says="loop",
    ),
    program("a package import from nowhere", "from ....... import x\nfrom . import y\nfrom .odd import z\n"),
    program(
        "a class whose fields are computed",
        HEAD + "class A(eqx.Module):\n    locals()['layers'] = 1\n    exec('x = 1')\n\n" + LOOP,
        says="loop",
    ),
    program("an encoding that is none of texts", "# coding: rot13\nx = 1\n", says="odd.py.*(?i:encod)|odd.py: skipped"),
    program("the encoding base64", "# coding: base64\nx = 1\n", says="odd.py"),
    program("the encoding that always fails", "# coding: undefined\nx = 1\n", says="odd.py"),
    program("an encoding of a name with a NUL", b"# coding: a\x00b\nx = 1\n", says="odd.py"),
    program("UTF-7", b"# coding: utf-7\nx = '+AGEAYQ-'\n"),
    program("UTF-32", "x = 1\n".encode("utf-32"), says="odd.py"),
    program("a byte order mark and another encoding", b"\xef\xbb\xbf# coding: latin-1\nx = 1\n", says="odd.py"),
    program("a name with a space of no width", "x\u200b = 1\n", says="odd.py"),
    program("a line that is continued to the end", "x = 1 + \\", says="odd.py"),
    program(
        "a comment that is never closed",
        "x = 1  # scanify: ignore[\ny = 2  # scanify: ignore[]\nz = 3  # scanify: ignore[SCN101\n",
        says="1 loop",
    ),
    program("a comment of a star", "x = 1  # scanify: ignore[*]\n", says="SCN302|SCN301|1 loop"),
    rewritten("form feeds", MODEL.replace("\n\nclass", "\n\x0c\nclass")),
    rewritten("half a character in a text", MODEL.replace("import jax\n", "import jax\n\nX = '\\ud800'\n")),
    rewritten(
        "a byte order mark, CRLF and no line break at the end",
        b"\xef\xbb\xbf" + MODEL.rstrip("\n").replace("\n", "\r\n").encode(),
    ),
    rewritten(
        "line separators of Unicode in a text",
        MODEL.replace("import jax\n", "import jax\n\nX = '\u2028 \u2029 \x85 \x1c'\n"),
    ),
    rewritten("a file of a megabyte", MODEL + "\n" + "# " + "a" * 70 + "\n" + ("# " + "b" * 70 + "\n") * 14_000),
    rewritten("names of other scripts", MODEL.replace("Block", "\u5c64").replace("Model", "\u6a21\u578b")),
    rewritten("names that are one and look like two", MODEL.replace("class Block", "class \uff22lock")),
]
