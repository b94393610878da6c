"""Traps in which the list has another name, by which it is changed after the model was given it."""

import re

from tests.random_projects.trap import Expect, Trap, Variant
from tests.random_projects.traps.ways import slots, tags

# What is done to a list, named `it`; every one of them changes what the model computes.
CHANGES = (
    "it.pop()",
    "it.append(NEW_K)",
    "it.insert(0, NEW_K)",
    "it += [NEW_K]",
    "del it[0]",
    "it[0] = NEW_K",
    "it[-1] = it[0]",
    "it.reverse()",
    "it[:] = it[1:]",
    "it.extend([it[0]])",
)
_NEW = "[NEW for i, k in [(1, jr.key(9))]][0]"


def _changes(place: str) -> list[str]:
    return [re.sub(r"\bit\b", place, change).replace("NEW_K", _NEW) for change in CHANGES]


def _built(text: str, change: str, **more: str) -> Variant:
    """The list is built by `text`, with `CHANGE` in it."""
    made = slots("elastic", **more)
    return Variant(made.slots, made.needs, build=text.replace("CHANGE", change))


def _all(text: str, place: str, **more: str) -> tuple[Variant, ...]:
    return tuple(_built(text, change, **more) for change in _changes(place))


def _trap(name: str, *variants: Variant) -> Trap:
    return Trap(name, Expect.LIST, variants)


CHANGERS = """
def drop_last(layers):
    layers.pop()


def turned(layers):
    layers.reverse()


def double(model):
    held = model.BLOCKS
    held.append(held[0])


def cut(model, name):
    del getattr(model, name)[1:]
"""
HOLDER = """
class Holder:
    def __init__(self, items):
        self.items = items

    def drop(self):
        self.items.pop()
"""
REGISTRY = "REGISTRY = []"
CACHED = """
@functools.lru_cache
def shared(d, n):
    key = jr.key(1)
    return [NEW EACH]
"""
ALIASES = (
    _trap(
        "alias changed",
        *_all("blocks = EXPR\nself.BLOCKS = blocks\nCHANGE", "blocks"),
        *_all("blocks = EXPR\nheld = blocks\nself.BLOCKS = blocks\nCHANGE", "held"),
        *_all("self.BLOCKS = held = EXPR\nCHANGE", "held"),
    ),
    _trap(
        "changed in a closure",
        *(
            _built(f"blocks = EXPR\n\ndef change():\n    {change}\n\nself.BLOCKS = blocks\nchange()", "")
            for change in _changes("blocks")
            if not change.startswith("blocks +=")
        ),
        _built("blocks = EXPR\nself.BLOCKS = blocks\n(lambda: blocks.pop())()", ""),
    ),
    _trap(
        "changed in a holder",
        *_all('parts = {"main": EXPR}\nself.BLOCKS = parts["main"]\nCHANGE', 'parts["main"]'),
        *_all("both = (EXPR, n)\nself.BLOCKS = both[0]\nfirst, _ = both\nCHANGE", "first"),
        *_all("parts = types.SimpleNamespace(main=EXPR)\nself.BLOCKS = parts.main\nCHANGE", "parts.main"),
        _built("held = Holder(EXPR)\nself.BLOCKS = held.items\nheld.drop()", "", common=HOLDER),
        _built("blocks = EXPR\nheld = Holder(blocks)\nself.BLOCKS = blocks\nheld.drop()", "", common=HOLDER),
    ),
    _trap(
        "changed in a registry",
        _built(
            "blocks = EXPR\nREGISTRY.append(blocks)\nself.BLOCKS = blocks",
            "",
            common=REGISTRY,
            make__after="REGISTRY[-1].pop()",
        ),
        _built(
            "self.BLOCKS = EXPR\nREGISTRY.append(self.BLOCKS)",
            "",
            common=REGISTRY,
            make__after="REGISTRY[-1][0] = REGISTRY[-1][-1]",
        ),
        _built(
            "self.BLOCKS = EXPR\nREGISTRY.append(self.BLOCKS)\nfor many in REGISTRY:\n    many.pop()",
            "",
            common=REGISTRY,
        ),
    ),
    _trap(
        "one list of a cache",
        Variant(
            slots("elastic plain", build=CACHED).slots,
            tags("elastic plain"),
            build="self.BLOCKS = shared(d, n)\nshared(d, n).pop()",
        ),
        Variant(
            slots("elastic plain", build=CACHED, make__after="NET(4, N, jr.key(2)).BLOCKS.append(net.BLOCKS[0])").slots,
            tags("elastic plain"),
            build="self.BLOCKS = shared(d, n)",
        ),
    ),
    _trap(
        "changed by a helper",
        _built("self.BLOCKS = EXPR\ndrop_last(self.BLOCKS)", "", helpers=CHANGERS),
        _built("self.BLOCKS = EXPR\nturned(self.BLOCKS)", "", helpers=CHANGERS),
        _built("self.BLOCKS = EXPR\ndouble(self)", "", helpers=CHANGERS),
        _built("self.BLOCKS = EXPR\ncut(self, 'BLOCKS')", "", helpers=CHANGERS),
        _built("self.BLOCKS = EXPR", "", helpers=CHANGERS, make__after="drop_last(net.BLOCKS)"),
        _built("self.BLOCKS = EXPR", "", helpers=CHANGERS, make__after="double(net)"),
        _built("self.BLOCKS = EXPR", "", helpers=CHANGERS, make__after="cut(net, 'BLOCKS')"),
        _built("self.BLOCKS = EXPR\nlist.append(self.BLOCKS, self.BLOCKS[0])", ""),
    ),
    _trap(
        "changed by a method",
        *(
            _built("self.BLOCKS = EXPR\nself.finish()", "", net__methods=f"def finish(self):\n    {change}\n")
            for change in _changes("self.BLOCKS")
            if "k in" not in change and "+=" not in change
        ),
    ),
    _trap(
        "changed by its owner",
        _built(
            "self.BLOCKS = EXPR",
            "",
            net__after="class Outer(eqx.Module):\n    net: NET\n\n    def __init__(self, d, n, key):\n        self.net = NET(d, n, key)\n        self.net.BLOCKS.pop()\n\n    def __call__(self, *args):\n        return self.net(*args)",
            made="Outer(4, N, jr.key(0))",
        ),
        _built("self.BLOCKS = EXPR", "", make__after="net.BLOCKS.pop()"),
        _built("self.BLOCKS = EXPR", "", make__after="held = net.BLOCKS\nheld[0] = held[-1]"),
        _built("self.BLOCKS = EXPR", "", make__after="getattr(net, 'BLOCKS').reverse()"),
        _built(
            "self.BLOCKS = EXPR",
            "",
            net__methods="@property\ndef parts(self):\n    return self.BLOCKS\n",
            make__after="net.parts.pop()",
        ),
    ),
    _trap(
        "set by name",
        _built("blocks = EXPR\nobject.__setattr__(self, 'BLOCKS', blocks)\nself.BLOCKS.pop()", ""),
        _built("blocks = EXPR\nsetattr(self, 'BLOCKS', blocks)\nblocks.pop()", ""),
        _built("self.BLOCKS = EXPR", "", make__after="object.__setattr__(net, 'BLOCKS', net.BLOCKS[::-1])"),
    ),
)
MANY_TIMES = (
    Trap(
        "one layer many times",
        Expect.EITHER,
        (
            Variant(build="b = [NEW for i, k in [(1, key)]][0]\nself.BLOCKS = [b for _ in range(n)]"),
            Variant(build="b = [NEW for i, k in [(1, key)]][0]\nself.BLOCKS = [b] * n"),
            Variant(build="blocks = EXPR\nself.BLOCKS = [*blocks[:-1], blocks[0]]"),
        ),
    ),
)
