"""Stores to attributes by name: what counts as one, and which are those of a constructor to its own object."""

from pathlib import Path

import pytest

from scanify.analysis.index import Index
from scanify.source.file import Source

ROOT = Path("/p")


def index_of(**files: str) -> Index:
    return Index(ROOT, [Source(ROOT / f"{name}.py", text) for name, text in files.items()])


STORES = {
    "an assignment": "Block.scale = half",
    "one of several targets": "(first, Block.scale), *rest = pair, 1, 2",
    "targets on several lines": "(\n    Block.scale,\n    other,\n) = pair",
    "an augmented assignment": "Block.scale += 1",
    "an annotated one": "block.scale: float = 1",
    "a deletion": "del Block.scale\nblock = 1",
    "a loop": "for block.scale in (1, 2):\n    pass",
    "a comprehension": "[1 for block.scale in (1, 2)]",
    "a context": "with held() as block.scale:\n    pass",
    "an element": "blocks[0].scale = half",
    "a line that goes on": "block. \\\n    scale = half",
    "setattr": "setattr(Block, 'scale', half)",
    "setattr of a call": "setattr(find(Block), 'scale', half)",
    "setattr by another name": "from builtins import setattr as put\nput(Block, 'scale', half)",
    "delattr": "delattr(Block, 'scale')",
    "the setter of object": "object.__setattr__(block, 'scale', half)",
    "a setter that is bound": "block.__setattr__('scale', half)",
    "a function that gets setattr": "list(map(setattr, blocks, ['scale'], [half]))",
    "a fixture": "monkeypatch.setattr(blocks.Block, 'scale', half)",
    "a fixture with a path": "monkeypatch.setattr('blocks.Block.scale', half)",
    "a mock": "from unittest import mock\nmock.patch('blocks.Block.scale', half).start()",
    "a mock of an object": "import unittest.mock\nunittest.mock.patch.object(Block, 'scale')",
    "a mock with keywords": "import unittest.mock as m\nm.patch.object(target=Block, attribute='scale')",
    "a mock of several": "from unittest.mock import patch\npatch.multiple(Block, scale=half, other=half)",
    "a mock by another name": "from unittest.mock import patch as put\nput('blocks.Block.scale', half)",
    "a decorator": "from unittest import mock\n@mock.patch('blocks.Block.scale')\ndef test(scale):\n    pass",
    "the fields of an object": "block.__dict__['scale'] = half",
    "vars": "vars(block)['scale'] = half",
    "an update of vars": "vars(block).update(scale=half)",
    "an update with a dict": "block.__dict__.update({'scale': half})",
    "an update with a name": "values = {'scale': half}\nvars(block).update(values)",
    "a method other than the constructor": "class Other:\n    def grow(self):\n        self.scale = 2",
    "a constructor, to another object": "class Other:\n    def __init__(self, block):\n        block.scale = 2",
    "a constructor that binds self again": "class Other:\n    def __init__(self, block):\n        self = block\n        self.scale = 2",
    "a class method": "class Other:\n    @classmethod\n    def make(cls):\n        cls.scale = 2",
    "a function with a self of its own": "class Other:\n    def __init__(self):\n        def put(self):\n            self.scale = 2",
    "a name from a loop": "for name in ('scale', 'shift'):\n    setattr(Block, name, half)",
    "a name in a file that does not parse": "Block.scale = half\ndef",
}


@pytest.mark.parametrize("text", STORES.values(), ids=STORES.keys())
def test_a_store_is_found(text):
    index = index_of(m=text + "\n", other="def f(scale):\n    return scale\n")
    (store, *_) = index.patches.stores("scale")
    assert store.path == ROOT / "m.py"
    assert index.patches.place(store).path == store.path
    index_of(m=text + "\n").module_at(ROOT / "m.py")


OTHERS = {
    "a constructor": "class Block:\n    def __init__(self):\n        self.scale = 2",
    "a constructor by setattr": "class Block:\n    def __init__(self):\n        object.__setattr__(self, 'scale', 2)",
    "a constructor with names": "class Block:\n    def __init__(self, **given):\n        for name in given:\n            setattr(self, name, 'scale')",
    "its own fields": "class Block:\n    def __post_init__(self):\n        self.__dict__['scale'] = vars(self).update(scale=2)",
    "a method that the constructor calls": "class Block:\n    def __init__(self):\n        self.fill()\n    def fill(self):\n        self.scale = 2",
    "a closure of the constructor": "class Block:\n    def __init__(self):\n        def fill():\n            self.scale = 2",
    "a read": "x = block.scale\ny = block.scale == x\nz = f(block.scale, scale=2)",
    "a name": "scale = 2\nblocks['scale'] = 2\nprint('scale')",
    "a request": "client.patch('/scale')\nclient.patch(url, 'scale')",
    "a setter that passes on": "class Block:\n    def __setattr__(self, name, value):\n        super().__setattr__(name, value)\n\nnames = 'scale'",
}


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS.keys())
def test_no_store_to_anything_else(text):
    assert not index_of(m=text + "\n").patches.stores("scale")


@pytest.mark.parametrize(
    "text",
    [
        "import blocks\nblocks.build = half",
        "from models import blocks as made\nmade.build = half",
        "import models.blocks\nmodels.blocks.build = half",
        "import models.blocks as blocks\nsetattr(blocks, 'build', half)",
        "from unittest import mock\nmock.patch('models.blocks.build')",
        "monkeypatch.setattr('models.blocks.build', half)",
        "import sys\nsys.modules['models.blocks'].build = half",
        "import importlib\nmade = importlib.import_module('blocks')\nmade.build = half",
        "from importlib import import_module\nmade = import_module('blocks')\nmade.build = half",
        "globals()['build'] = half",
    ],
)
def test_a_name_of_a_module_is_replaced(text):
    index = index_of(m=text + "\n")
    assert index.patches.in_module("blocks", "build")
    assert not index.patches.in_module("blocks", "other")


def test_names_of_other_modules_and_objects_are_not_replaced():
    index = index_of(m="import others\nothers.build = half\nconfig.build = half\n", blocks="# blocks\n")
    assert not index.patches.in_module("blocks", "build")


@pytest.mark.parametrize(
    "text", ["import builtins\nbuiltins.len = f", "__builtins__['len'] = f", "globals()['len'] = f"]
)
def test_builtins_that_mean_something_else(text):
    assert "len" in index_of(m=text + "\n").patches.builtins
