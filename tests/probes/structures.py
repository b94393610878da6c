"""Mutations of declarations: classes that intercept, patches, defaults, and other names of the list or of its layers."""

import ast
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.probes.draft import Draft, fields, filled, indented, method

COUNTED = """\
def COUNTED(function):
    def wrapped(*args, **kwargs):
        TOUCH(1.0)
        return function(*args, **kwargs)

    return wrapped
"""
WRAPS = """\
def COUNTED(function):
    @functools.wraps(function)
    def wrapped(self, *args, **kwargs):
        TOUCH(1.0)
        return function(self, *args, **kwargs)

    return wrapped
"""
ON_CLASS = """\
def INSTALL(cls):
    cls.__call__ = COUNTED(cls.__call__)
    return cls
"""


@dataclass(frozen=True)
class Structure:
    """One mutation. `apply` edits a draft and returns further definitions; None if the model has no place for it."""

    family: str
    name: str
    apply: Callable[[Draft, random.Random], str | None]
    imports: str = ""
    poke: str = ""


def _layer(draft: Draft, pick: random.Random) -> ast.ClassDef | None:
    found = [each for each in draft.layers if method(each, "__call__") is not None]
    return pick.choice(found) if found else None


def _listed(draft: Draft) -> ast.ClassDef | None:
    """Return the class whose call in the constructor of the model makes the layers, if it is in this file."""
    assert draft.model is not None
    names = {
        node.func.id for node in ast.walk(draft.model) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    return next((each for each in reversed(draft.layers) if each.name in names), None)


# -- classes -------------------------------------------------------------------------------------------------------------


def _in_class(text: str, used: str = "") -> Callable[[Draft, random.Random], str | None]:
    """Add a member to the class of a layer; with `used` a call of it, or of one of its parts, is computed with it."""

    def apply(draft: Draft, pick: random.Random) -> str | None:
        cls = _layer(draft, pick)
        if cls is None:
            return None
        call = method(cls, "__call__")
        assert call is not None
        returned = [node for node in ast.walk(call) if isinstance(node, ast.Return) and node.value is not None]
        if used:
            if not returned:
                return None
            value = returned[-1].value
            assert value is not None
            draft.replace(value, filled(used, draft.source(value)))
        names = [each.target.id for each in fields(cls) if isinstance(each.target, ast.Name)]
        last = max(fields(cls), key=lambda each: each.lineno, default=None)
        at = draft.line_end(last) if last is not None else draft.line_start(cls.body[-1])
        draft.insert(at, "\n" + indented(text.replace("FIELD", pick.choice(names or ["x"])), 4) + "\n")
        return ""

    return apply


def _decorated(line: str, of: str, more: str = "") -> Callable[[Draft, random.Random], str | None]:
    def apply(draft: Draft, pick: random.Random) -> str | None:
        cls = _layer(draft, pick)
        if cls is None:
            return None
        call = method(cls, "__call__")
        assert call is not None
        draft.before(cls if of == "class" else call, line)
        return more

    return apply


def _based(base: str, more: str, keyword: str = "") -> Callable[[Draft, random.Random], str | None]:
    """Give a layer's class another base, or a keyword of its class statement."""

    def apply(draft: Draft, pick: random.Random) -> str | None:
        cls = _layer(draft, pick)
        if cls is None or not cls.bases:
            return None
        first = cls.bases[0]
        if keyword:
            draft.insert(draft.span(cls.bases[-1])[1], f", {keyword}")
        else:
            draft.replace(first, base.replace("BASE", draft.source(first)))
        return more

    return apply


def _subclass(how: str, others: int = 0) -> Callable[[Draft, random.Random], str | None]:
    """Let a subclass that overrides the call be what the constructor of the model makes; `others` are unused."""

    def apply(draft: Draft, pick: random.Random) -> str | None:
        cls = _listed(draft)
        if cls is None or method(cls, "__call__") is None:
            return None
        assert draft.model is not None
        calls = [
            n
            for n in ast.walk(draft.model)
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == cls.name
        ]
        if not calls:
            return None
        draft.replace(calls[0].func, how.replace("CLS", cls.name))
        text = "".join(
            f"\n\nclass OTHER{n}({cls.name}):\n    def __call__(self, *args, **kwargs):\n        return super().__call__(*args, **kwargs)\n"
            for n in range(others)
        )
        text += f"\n\nclass SPECIAL({cls.name}):\n    def __call__(self, *args, **kwargs):\n        TOUCH(1.0)\n        return super().__call__(*args, **kwargs)\n"
        if "CHOOSE" in how:
            text += (
                f"\n\ndef CHOOSE(*args, **kwargs):\n    return (SPECIAL if kwargs else {cls.name})(*args, **kwargs)\n"
            )
        draft.insert(draft.line_end(cls), text)
        return ""

    return apply


# fmt: off
CLASSES = (
    Structure("class", "decorator of the class", _decorated("@INSTALL", "class", COUNTED + "\n\n" + ON_CLASS)),
    Structure("class", "decorator of the call", _decorated("@COUNTED", "call", COUNTED)),
    Structure("class", "decorator with wraps", _decorated("@COUNTED", "call", WRAPS), "import functools"),
    Structure("class", "decorator, lambda", _decorated("@(lambda function: COUNTED(function))", "call", COUNTED)),
    Structure("class", "decorator made by a call", _decorated("@MAKE()", "call", COUNTED + "\n\ndef MAKE():\n    return COUNTED\n")),
    Structure("class", "decorator, partial", _decorated("@functools.partial(COUNTED)", "call", COUNTED), "import functools"),
    Structure("class", "jit of the call that counts", _decorated("@COUNTED\n@eqx.filter_jit", "call", COUNTED)),
    Structure("class", "__init_subclass__ of a base", _based("HOOKED", "class HOOKED(eqx.Module):\n    def __init_subclass__(cls, **named):\n        super().__init_subclass__(**named)\n        cls.__call__ = COUNTED(cls.__call__)\n\n\n" + COUNTED)),
    Structure("class", "mixin with a call", _based("HOOKED, BASE", "class HOOKED:\n    def __init_subclass__(cls, **named):\n        super().__init_subclass__(**named)\n        cls.__call__ = COUNTED(cls.__call__)\n\n\n" + COUNTED)),
    Structure("class", "base made by a call", _based("MAKE(BASE)", "def MAKE(base):\n    class HOOKED(base):\n        def __init_subclass__(cls, **named):\n            super().__init_subclass__(**named)\n            cls.__call__ = COUNTED(cls.__call__)\n\n    return HOOKED\n\n\n" + COUNTED)),
    Structure("class", "metaclass, calls", _based("", "class META(type(eqx.Module)):\n    def __call__(cls, *args, **kwargs):\n        TOUCH(1.0)\n        return super().__call__(*args, **kwargs)\n", "metaclass=META")),
    Structure("class", "metaclass, classes", _based("", "class META(type(eqx.Module)):\n    def __new__(cls, name, bases, names, **more):\n        if name != 'HOOKED':\n            names['__call__'] = COUNTED(names['__call__'])\n        return super().__new__(cls, name, bases, names, **more)\n\n\n" + COUNTED, "metaclass=META")),
    Structure("class", "keyword of the class statement", _based("HOOKED", "class HOOKED(eqx.Module):\n    def __init_subclass__(cls, count=True, **named):\n        super().__init_subclass__(**named)\n        cls.__call__ = COUNTED(cls.__call__)\n\n\n" + COUNTED)),
    Structure("class", "__getattribute__", _in_class("def __getattribute__(self, name):\n    if name == 'FIELD':\n        TOUCH(1.0)\n    return super().__getattribute__(name)")),
    Structure("class", "__getattr__", _in_class("def __getattr__(self, name):\n    if name != 'METHOD':\n        raise AttributeError(name)\n    return TOUCH(1.0)", "jax.tree.map(lambda leaf: leaf * self.METHOD, E)")),
    Structure("class", "property", _in_class("@property\ndef METHOD(self):\n    return TOUCH(1.0)", "jax.tree.map(lambda leaf: leaf * self.METHOD, E)")),
    Structure("class", "method", _in_class("def METHOD(self, value):\n    return TOUCH(value)", "jax.tree.map(self.METHOD, E)")),
    Structure("class", "static method", _in_class("@staticmethod\ndef METHOD(value):\n    return TOUCH(value)", "jax.tree.map(self.METHOD, E)")),
    Structure("class", "class method", _in_class("@classmethod\ndef METHOD(cls, value):\n    return TOUCH(value)", "jax.tree.map(self.METHOD, E)")),
    Structure("class", "counter in the class", _in_class("METHOD: typing.ClassVar[list] = []\n\ndef note(self, value):\n    self.METHOD.append(TOUCH(1.0))\n    return value", "jax.tree.map(self.note, E)"), "import typing"),
    Structure("class", "__check_init__", _in_class("def __check_init__(self):\n    TOUCH(1.0)")),
    Structure("class", "__post_init__", _in_class("def __post_init__(self):\n    TOUCH(1.0)")),
    Structure("class", "__new__", _in_class("def __new__(cls, *args, **kwargs):\n    TOUCH(1.0)\n    return super().__new__(cls)")),
    Structure("class", "__mul__ of the layer", _in_class("def __mul__(self, value):\n    return TOUCH(value)", "jax.tree.map(lambda leaf: self * leaf, E)")),
    Structure("class", "__getitem__ of the layer", _in_class("def __getitem__(self, at):\n    return TOUCH(1.0)", "jax.tree.map(lambda leaf: leaf * self[0], E)")),
    Structure("class", "override in a subclass", _subclass("SPECIAL")),
    Structure("class", "override in the eighth subclass", _subclass("SPECIAL", 7)),
    Structure("class", "override, by a dict", _subclass("{0: SPECIAL}[0]")),
    Structure("class", "override, by a function", _subclass("CHOOSE")),
    Structure("class", "override, last subclass", _subclass("CLS.__subclasses__()[-1]", 2)),
    Structure("class", "override, conditional", _subclass("(SPECIAL if jax.__version__ else CLS)")),
)
# fmt: on

# -- patches -------------------------------------------------------------------------------------------------------------

PATCHES = {
    "assignment": "CLS.__call__ = COUNTED(CLS.__call__)",
    "setattr": 'setattr(CLS, "__call__", COUNTED(CLS.__call__))',
    "setattr of a name": 'for _name in ("__call__",):\n    setattr(CLS, _name, COUNTED(getattr(CLS, _name)))',
    "loop over classes": "for _cls in (CLS,):\n    _cls.__call__ = COUNTED(_cls.__call__)",
    "loop over a dict": 'for _cls in {"a": CLS}.values():\n    _cls.__call__ = COUNTED(_cls.__call__)',
    "alias of the class": "_alias = CLS\n_alias.__call__ = COUNTED(_alias.__call__)",
    "function": "INSTALL(CLS)",
    "map": "list(map(INSTALL, [CLS]))",
    "comprehension": "[INSTALL(cls) for cls in (CLS,)]",
    "type": 'type.__setattr__(CLS, "__call__", COUNTED(CLS.__call__))',
    "subclasses": 'for _cls in eqx.Module.__subclasses__():\n    if _cls.__name__ == "CLS":\n        INSTALL(_cls)',
    "globals": 'for _name, _cls in list(globals().items()):\n    if _name == "CLS":\n        INSTALL(_cls)',
    "exec": 'exec("CLS.__call__ = COUNTED(CLS.__call__)")',
    "mock": 'unittest.mock.patch.object(CLS, "__call__", COUNTED(CLS.__call__)).start()',
    "operator": 'operator.methodcaller("__setattr__", "__call__", COUNTED(CLS.__call__))',
    "new class of one name": "_Old = CLS\n\n\nclass CLS(_Old):\n    def __call__(self, *args, **kwargs):\n        TOUCH(1.0)\n        return super().__call__(*args, **kwargs)",
    "part": "eqx.nn.Linear.__call__ = COUNTED(eqx.nn.Linear.__call__)",
    "part, norm": "eqx.nn.LayerNorm.__call__ = COUNTED(eqx.nn.LayerNorm.__call__)",
    "part, loop": "for _cls in (eqx.nn.Linear, eqx.nn.LayerNorm, eqx.nn.MLP):\n    _cls.__call__ = COUNTED(_cls.__call__)",
    "library": "jax.nn.softmax = COUNTED(jax.nn.softmax)",
    "library, vmap": "jax.vmap = COUNTED(jax.vmap)",
    "library, setattr": 'setattr(jnp, "where", COUNTED(jnp.where))',
    "library, array": "jnp.tanh = COUNTED(jnp.tanh)\njnp.split = COUNTED(jnp.split)\njnp.einsum = COUNTED(jnp.einsum)",
    "own builtin": "zip = COUNTED(zip)\nenumerate = COUNTED(enumerate)",
    "own builtin, len": "len = COUNTED(len)",
    "builtins": "builtins.isinstance = COUNTED(builtins.isinstance)",
}
IMPORTS = {"mock": "import unittest.mock", "operator": "import operator", "builtins": "import builtins"}


def _patched(text: str, where: str) -> Callable[[Draft, random.Random], str | None]:
    def apply(draft: Draft, pick: random.Random) -> str | None:
        cls = _listed(draft) if pick.random() < 0.7 else _layer(draft, pick)
        if cls is None or (method(cls, "__call__") is None and "CLS" in text):
            return None
        if ("split" in text or "where" in text) and "jnp" not in draft.text:
            return None
        line = text.replace("CLS", cls.name)
        assert draft.model is not None and draft.loop is not None
        init = method(draft.model, "__init__")
        if where == "end":
            draft.append(line)
        elif where == "constructor" and init is not None and "class " not in line:
            draft.before(init.body[-1], line)
        elif where == "call" and "class " not in line and "zip" not in line and "len" not in line:
            draft.before(draft.loop, line)
        elif where == "function":
            draft.append("def _install():\n" + indented(line, 4) + "\n\n_install()")
        else:
            return None
        return COUNTED + "\n\n" + ON_CLASS

    return apply


PATCHED = tuple(
    Structure("patch", f"{name}, {where}", _patched(text, where), IMPORTS.get(name, ""))
    for name, text in PATCHES.items()
    for where in ("end", "end", "function", "constructor", "call")
)

# -- defaults and fields -------------------------------------------------------------------------------------------------


def _default(parameter: str, statement: str) -> Callable[[Draft, random.Random], str | None]:
    """Give the call of a layer one more parameter with a default, and use it."""

    def apply(draft: Draft, pick: random.Random) -> str | None:
        cls = _layer(draft, pick)
        call = method(cls, "__call__") if cls is not None else None
        if call is None or call.args.kwarg is not None:
            return None
        every = [*call.args.args, *call.args.kwonlyargs]
        parts: Sequence[ast.AST] = [
            *every,
            *(a.annotation for a in every if a.annotation),
            *call.args.defaults,
            *(d for d in call.args.kw_defaults if d),
        ]
        draft.insert(max(draft.span(each)[1] for each in parts), f", {parameter}")
        draft.before(call.body[-1], statement)
        return ""

    return apply


# fmt: off
DEFAULTS = (
    Structure("default", "list", _default("kept=[]", "kept.append(TOUCH(1.0))")),
    Structure("default", "dict", _default("kept={}", 'kept["n"] = TOUCH(1.0)')),
    Structure("default", "dict, setdefault", _default("kept={}", 'kept.setdefault(len(kept), TOUCH(1.0))')),
    Structure("default", "function", _default("kept=TOUCH", "kept(1.0)")),
    Structure("default", "lambda", _default("kept=lambda: TOUCH(1.0)", "kept()")),
    Structure("default", "method", _default("kept=[].append", "kept(TOUCH(1.0))")),
    Structure("default", "partial", _default("kept=functools.partial(TOUCH, 1.0)", "kept()"), "import functools"),
    Structure("default", "iterator", _default("kept=iter(range(999))", "TOUCH(next(kept))")),
    Structure("default", "annotated", _default("kept: 'jax.Array' = TOUCH", "kept(1.0)")),
)
# fmt: on

# -- other names ---------------------------------------------------------------------------------------------------------

_FIRST = "object.__setattr__({part}, NAME, jax.tree.map(lambda leaf: 2 * leaf if eqx.is_inexact_array(leaf) else leaf, getattr({part}, NAME)))"


def _aliased(line: str, poke: str, *, field: bool = False) -> Callable[[Draft, random.Random], str | None]:
    """Give the list or a layer another name where the constructor ends, and let a program change it by that name."""

    def apply(draft: Draft, pick: random.Random) -> str | None:
        assert draft.model is not None and draft.loop is not None
        init, walked = (
            method(draft.model, "__init__"),
            {n.attr for n in ast.walk(draft.loop.iter) if isinstance(n, ast.Attribute)},
        )
        names = [each.target.id for each in fields(draft.model) if isinstance(each.target, ast.Name)]
        held = next(
            (name for name in names if name in walked), next((n for n in names if n in ("layers", "blocks")), None)
        )
        cls = _listed(draft)
        inner = [each.target.id for each in fields(cls) if isinstance(each.target, ast.Name)] if cls is not None else []
        if init is None or held is None or not inner:
            return None
        draft.after(init.body[-1], line.replace("LIST", held))
        if field:
            draft.insert(draft.line_end(fields(draft.model)[-1]), "    ALIAS: object\n")
        words = _FIRST.format(part=poke) if "\n" not in poke and "(" not in poke and "=" not in poke else poke
        text = words.replace("NAME", repr(pick.choice(inner))).replace("LIST", held)
        draft.append("def POKE(model):\n" + indented(text, 4))
        return "KEPT = []\n"

    return apply


# fmt: off
ALIASES = (
    Structure("alias", "registry, first layer", _aliased("KEPT.append(self.LIST[0])", "KEPT[0]"), poke="POKE"),
    Structure("alias", "registry of the list, first", _aliased("KEPT.append(self.LIST)", "KEPT[0][0]"), poke="POKE"),
    Structure("alias", "registry of the list, reversed", _aliased("KEPT.append(self.LIST)", "KEPT[0].reverse()"), poke="POKE"),
    Structure("alias", "registry of the list, shorter", _aliased("KEPT.append(self.LIST)", "KEPT[0].pop()"), poke="POKE"),
    Structure("alias", "registry of the list, set", _aliased("KEPT.append(self.LIST)", "KEPT[0][1] = KEPT[0][0]"), poke="POKE"),
    Structure("alias", "registry by +=", _aliased("KEPT[:] = [self.LIST]", "for each in KEPT: each[:] = each[:2]"), poke="POKE"),
    Structure("alias", "registry, extended", _aliased("KEPT.extend(self.LIST)", "KEPT[0]"), poke="POKE"),
    Structure("alias", "field, first layer", _aliased("self.ALIAS = self.LIST[0]", "model.ALIAS", field=True), poke="POKE"),
    Structure("alias", "field, last layer", _aliased("self.ALIAS = self.LIST[-1]", "model.ALIAS", field=True), poke="POKE"),
    Structure("alias", "field, the list", _aliased("self.ALIAS = self.LIST", "model.ALIAS[0]", field=True), poke="POKE"),
    Structure("alias", "field, the list reversed", _aliased("self.ALIAS = self.LIST", "model.ALIAS.reverse()", field=True), poke="POKE"),
    Structure("alias", "field, a tuple", _aliased("self.ALIAS = tuple(self.LIST)", "model.ALIAS[0]", field=True), poke="POKE"),
    Structure("alias", "field, a dict", _aliased('self.ALIAS = {"first": self.LIST[0]}', 'model.ALIAS["first"]', field=True), poke="POKE"),
    Structure("alias", "field, a bound method", _aliased("self.ALIAS = self.LIST[0].__call__", "model.ALIAS.__self__", field=True), poke="POKE"),
    Structure("alias", "field, a closure", _aliased("self.ALIAS = lambda: self.LIST", "model.ALIAS()[0]; object.__setattr__(model.ALIAS()[0], NAME, None)", field=True), poke="POKE"),
    Structure("alias", "one layer in two places", _aliased("self.LIST[1] = self.LIST[0]", "model.LIST[0]"), poke="POKE"),
    Structure("alias", "the list of another model", _aliased("KEPT.append(self)", "KEPT[0].LIST[0]"), poke="POKE"),
    Structure("alias", "by the model, layer changed", _aliased("", "model.LIST[0]"), poke="POKE"),
    Structure("alias", "by the model, reversed", _aliased("", "model.LIST.reverse()"), poke="POKE"),
    Structure("alias", "by vars", _aliased("", 'vars(model)["LIST"].reverse()'), poke="POKE"),
    Structure("alias", "by getattr", _aliased("", 'getattr(model, "LIST").pop()'), poke="POKE"),
    Structure("alias", "by replacing", _aliased("", 'object.__setattr__(model, "LIST", model.LIST[::-1])'), poke="POKE"),
)
# fmt: on
STRUCTURES = {"class": CLASSES, "patch": PATCHED, "default": DEFAULTS, "alias": ALIASES}
