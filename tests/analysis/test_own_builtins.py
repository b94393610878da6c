"""`enumerate`, `zip`, `range` and the like that are not Python's own, though the file of the loop binds none of them."""

from pathlib import Path

import pytest

from scanify.analysis import analyse
from scanify.analysis.plan import Plan, Refusal
from scanify.source.file import Source
from tests.analysis.helpers import decide, model

COUNTED = "for i, layer in enumerate(self.layers):\n    x = layer(x) * i"
BACKWARDS = "for layer in reversed(self.layers):\n    x = layer(x)"
IN_STEP = "for layer, scale in zip(self.layers, keys):\n    x = layer(x) * scale"
BY_NUMBER = "for i in range(len(self.layers)):\n    x = self.layers[i](x)"
OWN = "def {name}(*given):\n    return list(given[0])[:1]\n"


def starred(loop: str, utils: str, star: str = "from utils import *\n") -> Plan | Refusal:
    (found,) = decide(star + model(loop), files={"utils.py": utils})
    return found


@pytest.mark.parametrize(
    ("loop", "name"),
    [(COUNTED, "enumerate"), (BACKWARDS, "reversed"), (IN_STEP, "zip"), (BY_NUMBER, "range"), (BY_NUMBER, "len")],
)
def test_a_star_brings_another_one(loop: str, name: str) -> None:
    found = starred(loop, OWN.format(name=name))
    assert isinstance(found, Refusal)
    assert found.rule == "SCN213"
    assert f"`{name}` may not be Python's own" in found.reason


@pytest.mark.parametrize("utils", ["def helper(x):\n    return x\n", "def _enumerate(x):\n    return x\n",
                                   "__all__ = ['helper']\ndef enumerate(x):\n    return x\n"])  # fmt: skip
def test_a_star_that_brings_none_is_no_matter(utils: str) -> None:
    assert isinstance(starred(COUNTED, utils), Plan)


def test_a_star_of_a_star_counts() -> None:
    files = {"utils.py": "from more import *\n", "more.py": OWN.format(name="enumerate")}
    (found,) = decide("from utils import *\n" + model(COUNTED), files=files)
    assert isinstance(found, Refusal)


def test_libraries_bring_no_enumerate() -> None:
    star = "from jax.lax import *\n"
    (found,) = decide(star + model(COUNTED))
    assert isinstance(found, Plan)


@pytest.mark.parametrize(
    "patch",
    ["import builtins\nbuiltins.enumerate = backwards\n", "import builtins as b\nsetattr(b, 'enumerate', backwards)\n"],
)
def test_a_file_puts_another_one_into_builtins(patch: str) -> None:
    (found,) = analyse([Source(Path("model.py"), model(COUNTED)), Source(Path("patch.py"), patch)]).loops
    assert isinstance(found, Refusal)
    (found,) = analyse([Source(Path("model.py"), model(COUNTED)), Source(Path("patch.py"), "import builtins\n")]).loops
    assert isinstance(found, Plan)


def test_what_a_scan_is_given_is_named_too() -> None:
    """`range(len(self.layers))` is written for an index, where the star brings another `range`."""
    assert isinstance(starred(COUNTED, OWN.format(name="range")), Refusal)
