"""Files whose text is none, is no Python, or is strange."""

from tests.bad_inputs.bad_input import BadInput
from tests.command import MODEL

TEXTS = [
    BadInput("a binary file", "scanify check model.py", 1, "model.py", {"model.py": bytes(range(256)) * 40}),
    BadInput(
        "a binary file, to rewrite", "scanify rewrite model.py", 1, "model.py", {"model.py": bytes(range(256)) * 40}
    ),
    BadInput("NUL bytes", "scanify check model.py", 1, "(?i)null", {"model.py": MODEL + "\0\0"}),
    BadInput(
        "no UTF-8 and no declaration",
        "scanify rewrite model.py",
        1,
        "(?i)utf-8|decode|encoding",
        {"model.py": MODEL.encode() + "# é\n".encode("latin-1")},
    ),
    BadInput(
        "latin-1, declared",
        "scanify rewrite model.py",
        0,
        "1 loop rewritten",
        {"model.py": b"# coding: latin-1\n" + MODEL.encode() + "# é\n".encode("latin-1")},
        changes=("model.py",),
    ),
    BadInput(
        "an encoding that there is none of",
        "scanify check model.py",
        1,
        "(?i)encoding",
        {"model.py": "# coding: klingon\n" + MODEL},
    ),
    BadInput("UTF-16", "scanify check model.py", 1, "model.py", {"model.py": MODEL.encode("utf-16")}),
    BadInput(
        "a byte order mark",
        "scanify rewrite model.py",
        0,
        "1 loop rewritten",
        {"model.py": MODEL.encode("utf-8-sig")},
        changes=("model.py",),
    ),
    BadInput(
        "CRLF",
        "scanify rewrite model.py",
        0,
        "1 loop rewritten",
        {"model.py": MODEL.replace("\n", "\r\n")},
        changes=("model.py",),
    ),
    BadInput(
        "CR alone",
        "scanify rewrite model.py",
        (0, 1),
        "loop",
        {"model.py": MODEL.replace("\n", "\r")},
        changes=("model.py",),
    ),
    BadInput("an empty file", "scanify rewrite model.py", 0, "Nothing", {"model.py": ""}),
    BadInput("a file of blanks", "scanify check model.py", 0, "No loop", {"model.py": " \n\t\n"}),
    BadInput("a syntax error", "scanify check model.py", 1, "model.py.*line 1", {"model.py": "def f(:\n"}),
    BadInput(
        "a syntax error, to rewrite", "scanify rewrite model.py", 1, "model.py.*line 1", {"model.py": "def f(:\n"}
    ),
    BadInput(
        "a syntax error in a neighbour",
        "scanify check model.py",
        1,
        "SCN101",
        {"model.py": MODEL, "other.py": "class\n"},
    ),
    BadInput("Python 2", "scanify check model.py", 1, "model.py.*line 1", {"model.py": "print 'hello'\n"}),
    BadInput(
        "tabs and blanks mixed",
        "scanify check model.py",
        1,
        "model.py",
        {"model.py": "if True:\n\tx = 1\n        y = 2\n"},
    ),
    BadInput(
        "conflict markers",
        "scanify rewrite model.py",
        1,
        "model.py",
        {"model.py": MODEL + "<<<<<<< HEAD\nx = 1\n=======\n"},
    ),
    BadInput(
        "a bracket that is never closed", "scanify check model.py", 1, "(?i)closed", {"model.py": MODEL + "x = (\n"}
    ),
    BadInput(
        "no line break at the end",
        "scanify rewrite model.py",
        0,
        "1 loop rewritten",
        {"model.py": MODEL.rstrip("\n")},
        changes=("model.py",),
    ),
    BadInput(
        "a line of a million characters",
        "scanify check model.py",
        1,
        "SCN101",
        {"model.py": MODEL + "x = '" + "a" * 10**6 + "'\n"},
    ),
    BadInput(
        "a thousand brackets",
        "scanify check model.py",
        1,
        "model.py|SCN101",
        {"model.py": MODEL + "x = " + "(" * 1000 + ")" * 1000 + "\n"},
    ),
    BadInput(
        "a sum of five thousand terms",
        "scanify rewrite model.py",
        (0, 1, 2),
        "loop|deep",
        {"model.py": MODEL + "x = " + "1 + " * 5000 + "1\n"},
        changes=("model.py",),
    ),
    BadInput(
        "a model without loops",
        "scanify rewrite model.py",
        0,
        "Nothing",
        {"model.py": "import equinox as eqx\n\n\nclass Model(eqx.Module):\n    w: float\n"},
    ),
    BadInput("nothing on standard input", "scanify check - < /dev/null", 0, "No loop"),
    BadInput("a syntax error on standard input", "echo 'def f(:' | scanify check -", 1, "1"),
    BadInput("binary on standard input", "head -c 4096 /dev/zero | scanify rewrite -", (1, 2), "(?i)null|stdin|-"),
    BadInput("standard input that is closed", "scanify check - <&-", (0, 1, 2), "(?i)input|no loop"),
]
