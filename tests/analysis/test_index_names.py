"""What the names of a project stand for, through imports, re-exports and stars."""

from pathlib import Path

import pytest

from scanify.analysis.index import Definition, External, Index, Meaning, Package
from scanify.source.file import Source

ROOT = Path("/p")


def project(**files: str) -> Index:
    """`pkg__init="..."` is pkg/__init__.py, `pkg_models_gpt` pkg/models/gpt.py."""
    return Index(ROOT, [Source(_path(name), text) for name, text in files.items()])


def _path(name: str) -> Path:
    if name.endswith("__init"):
        return ROOT / name.removesuffix("__init").replace("_", "/") / "__init__.py"
    return ROOT / (name.replace("_", "/") + ".py")


def meaning(index: Index, name: str, dotted: str) -> Meaning | None:
    module = index.module_at(_path(name))
    assert module is not None
    return index.resolve(module, dotted)


def line(index: Index, name: str, dotted: str) -> tuple[str, int] | None:
    """The file and line of a definition."""
    found = meaning(index, name, dotted)
    return (found.module.name, found.node.lineno) if isinstance(found, Definition) else None


def test_names_are_followed_to_their_definition() -> None:
    index = project(
        pkg__init="from .nn import *\nfrom .nn import Block as Renamed\nfrom . import nn as layers\n",
        pkg_nn__init="from pkg.nn.block import Block, _hidden\n__all__ = ['Block']\n",
        pkg_nn_block="import equinox as eqx\nBase = eqx.Module\n\nclass Block(Base): pass\ndef _hidden(): pass\n",
        train="import pkg\nimport pkg.nn.block\nfrom pkg import Block, Renamed, layers, nothing\nimport jax.numpy as jnp\n",
    )
    block = ("pkg.nn.block", 4)
    for dotted in ("Block", "Renamed", "pkg.Block", "pkg.nn.block.Block", "layers.Block", "layers.block.Block"):
        assert line(index, "train", dotted) == block, dotted
    assert line(index, "pkg_nn_block", "Base") == ("pkg.nn.block", 2)
    assert meaning(index, "pkg_nn_block", "eqx.nn.Linear") == External("equinox.nn.Linear")
    assert meaning(index, "train", "jnp.sin") == External("jax.numpy.sin")
    assert meaning(index, "train", "nothing") is None
    assert meaning(index, "train", "Block.attribute") is None
    assert meaning(index, "train", "pkg._hidden") is None  # not in `__all__`
    assert isinstance(found := meaning(index, "train", "layers"), Package) and found.name == "pkg.nn"


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    from a import f\nexcept ImportError:\n    def f(): pass\n",
        "def f(): pass\nf = jit(f)\n",
        "def f(): pass\ndef other():\n    global f\n    f = None\n",
        "def f(): pass\ndef other():\n    global a, \\\n        f # is it\n    f = None\n",
        "def f(): pass\ndef other(): global f; f = None\n",
        "from b import *\nfrom a import *\n",
        "from m import f\n",
        "del f\n",
    ],
)
def test_a_name_that_may_stand_for_several_things_stands_for_none(text: str) -> None:
    index = project(m=text, a="def f(): pass\n", b="def f(): pass\n")
    assert meaning(index, "m", "f") is None


def test_type_checkers_imports_hold_where_nothing_else_binds_the_name() -> None:
    index = project(
        m="if TYPE_CHECKING:\n    from a import C, D\nelse:\n    D = object\n", a="class C: pass\nclass D: pass\n"
    )
    assert line(index, "m", "C") == ("a", 1)
    assert line(index, "m", "D") == ("m", 4)


def test_overloads_are_one_definition() -> None:
    index = project(m="@overload\ndef f(x: int): ...\n@typing.overload\ndef f(x: str): ...\ndef f(x): pass\n")
    assert line(index, "m", "f") == ("m", 5)


def test_builtins_are_external_unless_something_may_hide_them() -> None:
    index = project(m="x = 1\n", n="def zip(): pass\n", o="from numpy import *\n")
    assert meaning(index, "m", "zip") == External("builtins.zip")
    assert isinstance(meaning(index, "n", "zip"), Definition)
    assert meaning(index, "o", "max") is None
    assert meaning(index, "m", "undefined") is None


def test_circles_end() -> None:
    index = project(a="from b import *\nfrom b import x\n", b="from a import *\nfrom a import x\n")
    assert meaning(index, "a", "x") is None
    assert meaning(index, "b", "y") is None


def test_stars_among_many_modules_are_followed_once() -> None:
    every = [f"m{number}" for number in range(30)]
    stars = "".join(f"from {name} import *\n" for name in every)
    index = project(
        **{**dict.fromkeys(every, stars), "last": "def f(): pass\n" + stars, "m0": stars + "from last import *\n"}
    )
    assert line(index, "m7", "f") == ("last", 1)
    assert meaning(index, "m7", "g") is None


def test_scripts_import_what_lies_beside_them() -> None:
    index = project(
        examples_one_model="class M: pass\n",
        examples_one_train="from model import M\n",
        examples_two_model="class M: pass\n",
        examples_two_train="from model import M\nfrom .model import M as N\n",
        other="import model\nfrom examples.one.model import M\n",
    )
    assert line(index, "examples_one_train", "M") == ("examples.one.model", 1)
    assert line(index, "examples_two_train", "M") == ("examples.two.model", 1)
    assert line(index, "examples_two_train", "N") == ("examples.two.model", 1)
    assert line(index, "other", "M") == ("examples.one.model", 1)
    assert meaning(index, "other", "model.M") == External("model.M")  # two are called so, and neither is in reach


def test_a_package_somewhere_below_is_found_by_its_name() -> None:
    index = project(libs_core_src_core__init="def f(): pass\n", app_main="from core import f\n")
    assert line(index, "app_main", "f") == ("core", 1)


def test_a_folder_named_like_a_library_is_the_library_only_where_the_project_is_it() -> None:
    inside = project(
        models_jax_net="import jax\nfrom .util import f\n", models_jax__init="", models_jax_util="def f(): pass\n"
    )
    assert meaning(inside, "models_jax_net", "jax.numpy.sin") == External("jax.numpy.sin")
    assert line(inside, "models_jax_net", "f") == ("jax.util", 1)
    namespace = project(equinox_train="import equinox as eqx\n", equinox_model="")
    assert meaning(namespace, "equinox_train", "eqx.Module") == External("equinox.Module")
    own = project(equinox__init="from ._module import Module\n", equinox_module="", train="import equinox as eqx\n")
    assert meaning(own, "train", "eqx.nn.Linear") == External("equinox.nn.Linear")
    assert meaning(own, "train", "eqx.Module") is None


def test_only_files_with_the_words_are_parsed() -> None:
    index = project(a="layers = 1\nx = 'for'\n", b="layers_ = 1 # for\n", c="(((layers for")
    assert [module.name for module in index.modules_with("layers", "for")] == ["a"]
    assert set(index.problems) == {_path("c")}
    assert [path.stem for path in index.paths_with("layers_")] == ["b"]


def test_files_are_read_where_an_import_leads_to_them() -> None:
    texts = {ROOT / "lib.py": "def f(): pass\n"}

    def read(path: Path) -> Source | None:
        return Source(path, texts[path]) if path in texts else None

    index = Index(ROOT, [Source(ROOT / "m.py", "from lib import f\nfrom gone import g\n")], read)
    assert line(index, "m", "f") == ("lib", 1)
    assert list(index.paths_with("pass")) == [ROOT / "lib.py"]
    assert meaning(index, "m", "g") == External("gone.g")


def test_words_are_looked_for_in_files_that_are_read_later_too() -> None:
    text = "def f(): pass\nBlock.f = f\nself.g = f\nsetattr(Block, 'h', f)\nBlock.i == f\n"

    def read(path: Path) -> Source | None:
        return Source(path, text) if path == ROOT / "lib.py" else None

    index = Index(ROOT, [Source(ROOT / "m.py", "from lib import f\n")], read)
    assert not list(index.paths_with("f", "pass")) and not index.patches.stores("h")
    assert line(index, "m", "f") == ("lib", 1)
    assert list(index.paths_with("f", "pass")) == [ROOT / "lib.py"]
    assert [bool(index.patches.stores(name)) for name in "fghi"] == [True, True, True, False]


@pytest.mark.parametrize("root", ["/p", "/p/memory"])
def test_a_package_inside_of_another_is_not_the_library_of_its_name(root: str) -> None:
    files = {
        "/p/memory/__init__.py": "",
        "/p/memory/equinox/__init__.py": "",
        "/p/memory/equinox/nets.py": "from equinox import nn\nfrom memory.equinox import nets as own\n",
    }
    index = Index(Path(root), [Source(Path(path), text) for path, text in files.items()])
    module = index.module_at(Path("/p/memory/equinox/nets.py"))
    assert module is not None
    assert index.resolve(module, "nn") == External("equinox.nn")
    assert getattr(index.resolve(module, "own"), "name", None) == "memory.equinox.nets"


LAZY = """\
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .plain import Block

homes = {"Block": ".plain"}


def __getattr__(name):
    return getattr(load(homes[name]), name)
"""


def test_what_a_lazy_package_gives_is_not_shown() -> None:
    both = {"pkg_plain": "class Block: pass\n", "train": "from pkg import Block\n"}
    assert meaning(project(pkg__init=LAZY, **both), "train", "Block") is None
    eager = LAZY.partition("homes")[0]
    assert line(project(pkg__init=eager, **both), "train", "Block") == ("pkg.plain", 1)


def patched(index: Index, names: str) -> list[str]:
    return [name for name in names.split() if index.patches.stores(name)]


def test_names_that_a_variable_has_are_patched_where_they_are_given() -> None:
    record = "def record(cls, method):\n    setattr(cls, method, wrapped)\n"
    index = project(tools=record, train="from tools import record\nrecord(Block, 'pattern')\n")
    assert patched(index, "pattern other method") == ["pattern"]
    index = project(tools=record + "for each in ('scale', 'shift'):\n    record(Block, each)\n")
    assert patched(index, "scale shift each") == ["scale", "shift"]
    update = (
        "class Config:\n    def put(self, **values):\n        for name in values:\n            setattr(self, name, 1)\n"
    )
    assert patched(project(tools=update, train="config.put(rate=2)\n"), "rate put") == ["rate"]
