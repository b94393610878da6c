"""Where the import of the target's class goes, and under which name."""

from pathlib import Path

import pytest

from scanify.emit.apply import apply_edits
from scanify.emit.names.imports import bind

PATH = Path("model.py")
NEW = "from scanify.nn import ArrayStacked\n"
CODE = "\n\nclass Model:\n    pass\n"


def imported(text: str) -> tuple[str, str]:
    """The local name, and the text with the import."""
    binding = bind(PATH, text, "scanify.nn", "ArrayStacked")
    return binding.name, text if binding.edit is None else apply_edits(text, [binding.edit])


# name: (the file before, the file after, `+` where the new line is)
PLACES = {
    "sorted into the third-party group": (
        "import os\n\nimport equinox\nimport jax\nfrom flax import nnx\nfrom torch import nn\n\nfrom . import b\n",
        "import os\n\nimport equinox\nimport jax\nfrom flax import nnx\n+from torch import nn\n\nfrom . import b\n",
    ),
    "after the plain imports where there is no other from": (
        "import equinox as eqx\nimport jax\n",
        "import equinox as eqx\nimport jax\n+",
    ),
    "first of its group where everything sorts after it": (
        "import os\n\n# why\nfrom torch import nn\n",
        "import os\n\n+# why\nfrom torch import nn\n",
    ),
    "after an import over several lines": (
        "from jax import (\n    Array,  # a\n    jit,\n)\n\nx = 1\n",
        "from jax import (\n    Array,  # a\n    jit,\n)\n+\nx = 1\n",
    ),
    "a group of its own after the standard library": (
        "import os\nimport sys\n\nx = 1\n",
        "import os\nimport sys\n\n+\nx = 1\n",
    ),
    "a group of its own before relative imports": (
        "# c\n\n# about\nfrom .a import b\nfrom . import c\n",
        "# c\n\n# about\n+\nfrom .a import b\nfrom . import c\n",
    ),
    "after the future": (
        '"""Doc."""\n\nfrom __future__ import annotations\n\nx = 1\n',
        '"""Doc."""\n\nfrom __future__ import annotations\n\n+\nx = 1\n',
    ),
    "between the future and the rest": (
        "from __future__ import annotations\n\nimport jax\n",
        "from __future__ import annotations\n\nimport jax\n+",
    ),
    "after the docstring": ('"""Doc."""\n\nx = 1\n', '"""Doc."""\n\n+\nx = 1\n'),
    "after the comments of the file": (
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\n# about x\nx = 1\n",
        "#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\n+\n\n# about x\nx = 1\n",
    ),
    "after a shebang that touches the code": ("#!/usr/bin/env python\nx = 1\n", "#!/usr/bin/env python\n+\n\nx = 1\n"),
    "at the top of a file with nothing before its code": ("x = 1\n", "+\n\nx = 1\n"),
    "not after an import that comes later": (
        "import jax\nx = 1\nimport zlib\n",
        "import jax\n+x = 1\nimport zlib\n",
    ),
    "not inside a block for the type checker": (
        "import typing as t\n\nimport jax\n\nif t.TYPE_CHECKING:\n    from scanify.nn import ArrayStacked\n\nx = 1\n",
        "import typing as t\n\nimport jax\n+\nif t.TYPE_CHECKING:\n    from scanify.nn import ArrayStacked\n\nx = 1\n",
    ),
    "not inside of a function": (
        "import jax\n\ndef f():\n    from scanify.nn import ArrayStacked\n",
        "import jax\n+\ndef f():\n    from scanify.nn import ArrayStacked\n",
    ),
    "past a try that is in the way": (
        "try:\n    import a\nexcept ImportError:\n    a = None\nimport jax\n\nx = 1\n",
        "try:\n    import a\nexcept ImportError:\n    a = None\nimport jax\n+\nx = 1\n",
    ),
    "beside a star import": ("from scanify.nn import *\n", "from scanify.nn import *\n+"),
    "a file that ends without a line end": ("import flax\nimport jax", "import flax\nimport jax\n+"),
}


@pytest.mark.parametrize("name", PLACES)
def test_the_import_goes(name: str) -> None:
    before, after = PLACES[name]
    expected = after.replace("+", NEW)
    if not before.endswith("\n"):
        expected = expected.removesuffix("\n")
    assert imported(before) == ("ArrayStacked", expected)
    assert imported(before.replace("\n", "\r\n")) == ("ArrayStacked", expected.replace("\n", "\r\n"))
    assert imported(expected) == ("ArrayStacked", expected), "a second run changes nothing"


MERGED = {
    "from scanify.nn import ScanCheckpointPolicy\n": "from scanify.nn import ArrayStacked, ScanCheckpointPolicy\n",
    "from scanify.nn import Aaa\n": "from scanify.nn import Aaa, ArrayStacked\n",
    "from scanify.nn import Aaa, Bbb  # why\n": "from scanify.nn import Aaa, ArrayStacked, Bbb  # why\n",
    "from scanify.nn import (\n    A,\n    B,\n)\n": "from scanify.nn import (\n    A,\n    ArrayStacked,\n    B,\n)\n",
    "from scanify.nn import (\n    A,\n    Ab,\n)\n": "from scanify.nn import (\n    A,\n    Ab,\n    ArrayStacked,\n)\n",
    "# c\nfrom scanify.nn import (Aaa)\n": "# c\nfrom scanify.nn import (Aaa, ArrayStacked)\n",
}


@pytest.mark.parametrize("before", MERGED)
def test_an_import_from_the_same_module_takes_the_name(before: str) -> None:
    assert imported(before + CODE) == ("ArrayStacked", MERGED[before] + CODE)
    assert imported("x = 1\n" + before.replace("\n", "\r\n"))[1] == "x = 1\n" + MERGED[before].replace("\n", "\r\n")


def test_comments_inside_an_import_stay() -> None:
    text = "from scanify.nn import (\n    Aaa,  # one\n    Abb,  # two\n)\n"
    name, new = imported(text)
    assert name == "ArrayStacked"
    assert new.count("# one") == new.count("# two") == 1
    compile(new, "m", "exec")
    assert imported(new) == ("ArrayStacked", new)


@pytest.mark.parametrize("text", [NEW, "x = 1\n" + NEW, "from scanify.nn import Aaa, ArrayStacked\n"])
def test_a_file_that_has_the_name_is_left_alone(text: str) -> None:
    assert imported(text + CODE) == ("ArrayStacked", text + CODE)


def test_a_file_that_has_it_under_another_name_uses_that() -> None:
    text = "from scanify.nn import ArrayStacked as Stack\n" + CODE
    assert imported(text) == ("Stack", text)


@pytest.mark.parametrize(
    "other",
    [
        "from haliax.nn import ArrayStacked",
        "import arrays as ArrayStacked",
        "class ArrayStacked: pass",
        "ArrayStacked = 1",
        "a, (ArrayStacked, b) = c",
        "def f(ArrayStacked): pass",
        "for ArrayStacked in (): pass",
        "try: pass\nexcept E as ArrayStacked: pass",
        "if (ArrayStacked := 1): pass",
        "ArrayStacked: int = 1",
        "y = [1 for ArrayStacked in ()]",
    ],
)
def test_a_file_in_which_the_name_is_taken_uses_another(other: str) -> None:
    name, new = imported(f"import jax\n{other}\n")
    assert name == "ScanifyArrayStacked"
    assert "from scanify.nn import ArrayStacked as ScanifyArrayStacked\n" in new
    assert imported(new) == (name, new)
    assert imported(f"import jax\nScanifyArrayStacked = 1\n{other}\n")[0] == "ScanifyArrayStacked_2"


@pytest.mark.parametrize("mention", ["nn.ArrayStacked(1)", "f(ArrayStacked=1)", "'ArrayStacked'"])
def test_a_mention_does_not_take_the_name(mention: str) -> None:
    assert imported(f"import jax\nx = {mention}\n")[0] == "ArrayStacked"
