"""How a mutated place gets to its effect: by a call, an operator or a protocol of Python, in an expression or statement."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Carrier:
    """A text that takes the place of an expression `E`, or stands as a statement before another one.

    `kind` are the methods of the class of the object `OBJ` that the text names, "" if it names none. `numeric`: the text
    computes with E. `own`: OBJ is a global only, as jax itself would use the methods on an object in a module.
    """

    name: str
    text: str
    kind: str = ""
    numeric: bool = False
    imports: str = ""
    own: bool = False


def _direct(text: str, imports: str = "", numeric: bool = False) -> Carrier:
    return Carrier(text, text, imports=imports, numeric=numeric)


def _object(text: str, *methods: str, numeric: bool = False, own: bool = False, imports: str = "") -> Carrier:
    kind = "\n\n".join("\n".join(f"    {line}" for line in method.split("\n")) for method in methods)
    head = next(line for line in methods[0].splitlines() if line.startswith("def "))
    return Carrier(f"{text}, {head[4:].partition('(')[0]}", text, kind, numeric, imports, own)


def _method(name: str, body: str, parameters: str = "", decorator: str = "") -> str:
    head = f"{decorator}\n" if decorator else ""
    return f"{head}def {name}(self{', ' if parameters else ''}{parameters}):\n    {body}"


_GETATTR = _method(
    "__getattr__", 'if name.startswith("__"):\n        raise AttributeError(name)\n    return TOUCH(1.0)', "name"
)
# fmt: off
EXPRESSIONS = (
    _direct("TOUCH(E)"),
    _direct("(lambda value: TOUCH(value))(E)"),
    _direct("(lambda *values: TOUCH(*values))(*[E])"),
    _direct("[TOUCH(value) for value in (E,)][0]"),
    _direct("next(TOUCH(value) for value in (E,))"),
    _direct("{0: TOUCH}[0](E)"),
    _direct("(TOUCH,)[0](E)"),
    _direct("(TOUCH if True else None)(E)"),
    _direct("list(map(TOUCH, (E,)))[0]"),
    _direct("next(map(TOUCH, [E]))"),
    _direct("functools.partial(TOUCH, E)()", "import functools"),
    _direct("functools.partial(TOUCH)(E)", "import functools"),
    _direct("functools.reduce(lambda first, _: TOUCH(first), (0,), E)", "import functools"),
    _direct("sorted([E], key=TOUCH)[0]"),
    _direct("max([E], key=TOUCH)"),
    _direct("operator.call(TOUCH, E)", "import operator"),
    _direct('globals()["TOUCH"](E)'),
    _direct('eval("TOUCH")(E)'),
    _direct("TOUCH.__call__(E)"),
    _direct("jax.tree.map(TOUCH, E)", "import jax"),
    _direct("jax.tree_util.tree_map(TOUCH, E)", "import jax"),
    _direct("jax.checkpoint(TOUCH)(E)", "import jax"),
    _direct("jax.vmap(TOUCH)(E)", "import jax"),
    _direct("jax.lax.cond(True, TOUCH, TOUCH, E)", "import jax"),
    _direct("jax.named_call(TOUCH)(E)", "import jax"),
    _direct("jnp.vectorize(TOUCH)(E)", "import jax.numpy as jnp"),
    _direct("jnp.apply_along_axis(TOUCH, -1, E)", "import jax.numpy as jnp"),
    _direct("jnp.piecewise(E, [E > 0], [TOUCH, TOUCH])", "import jax.numpy as jnp"),
    _direct("jax.jvp(TOUCH, (E,), (jnp.ones_like(E),))[0]", "import jax\nimport jax.numpy as jnp"),
    _direct("eqx.filter_checkpoint(TOUCH)(E)", "import equinox as eqx"),
    _direct("eqx.filter_vmap(TOUCH)(E)", "import equinox as eqx"),
    _direct("eqx.nn.Lambda(TOUCH)(E)", "import equinox as eqx"),
    _direct("eqx.nn.Sequential([eqx.nn.Lambda(TOUCH)])(E)", "import equinox as eqx"),
    _direct("jax.tree.map(lambda leaf: leaf, E, is_leaf=lambda node: TOUCH(0) is None)", "import jax"),
    _direct("(E * TOUCH(1.0))", numeric=True),
    _object("OBJ.METHOD(E)", _method("METHOD", "return TOUCH(value)", "value")),
    _object("OBJ.METHOD(E)", _method("METHOD", "return TOUCH(value)", "value", "@staticmethod").replace("self, ", "")),
    _object("OBJ.METHOD(E)", _method("METHOD", "return TOUCH(value)", "value", "@classmethod")),
    _object('getattr(OBJ, "METHOD")(E)', _method("METHOD", "return TOUCH(value)", "value")),
    _object('operator.methodcaller("METHOD", E)(OBJ)', _method("METHOD", "return TOUCH(value)", "value"), imports="import operator"),
    _object("type(OBJ).METHOD(OBJ, E)", _method("METHOD", "return TOUCH(value)", "value")),
    _object("jax.vmap(OBJ.METHOD)(E)", _method("METHOD", "return TOUCH(value)", "value"), imports="import jax"),
    _object("OBJ(E)", _method("__call__", "return TOUCH(value)", "value")),
    _object("jax.vmap(OBJ)(E)", _method("__call__", "return TOUCH(value)", "value"), imports="import jax"),
    _object("(E * OBJ[0])", _method("__getitem__", "return TOUCH(1.0)", "at"), numeric=True),
    _object("(E * OBJ.METHOD)", _method("METHOD", "return TOUCH(1.0)", decorator="@property"), numeric=True),
    _object("(E * OBJ.METHOD)", _GETATTR, numeric=True, own=True),
    _object("(E * OBJ)", _method("__rmul__", "return TOUCH(value)", "value"), numeric=True),
    _object("(OBJ + E)", _method("__add__", "return TOUCH(value)", "value"), numeric=True),
    _object("(E * OBJ)", _method("__jax_array__", "return jnp.asarray(TOUCH(1.0))"), numeric=True, imports="import jax.numpy as jnp"),
    _object("(E * -OBJ)", _method("__neg__", "return TOUCH(1.0)"), numeric=True),
    _object("(E * float(OBJ))", _method("__float__", "return float(TOUCH(1.0))"), numeric=True),
    _object("(E * abs(OBJ))", _method("__abs__", "return TOUCH(1.0)"), numeric=True),
    _object("(E, E)[OBJ]", _method("__index__", "TOUCH(1.0)\n    return 0")),
    _object("(E if OBJ else E)", _method("__bool__", "TOUCH(1.0)\n    return True")),
    _object("(E if OBJ == 1 else E)", _method("__eq__", "TOUCH(1.0)\n    return True", "other"), own=True),
    _object("(E if OBJ < 1 else E)", _method("__lt__", "TOUCH(1.0)\n    return True", "other")),
    _object("(E if 1 in OBJ else E)", _method("__contains__", "TOUCH(1.0)\n    return True", "other")),
    _object("(E if len(OBJ) else E)", _method("__len__", "TOUCH(1.0)\n    return 1")),
    _object("(E if hash(OBJ) else E)", _method("__hash__", "TOUCH(1.0)\n    return 1"), own=True),
    _object('(f"{OBJ}" and E)', _method("__format__", 'TOUCH(1.0)\n    return "text"', "spec")),
    _object("(str(OBJ) and E)", _method("__str__", 'TOUCH(1.0)\n    return "text"')),
    _object("[*OBJ, E][-1]", _method("__iter__", "TOUCH(1.0)\n    return iter(())")),
    _object("(E * sum(OBJ))", _method("__iter__", "return iter((TOUCH(1.0),))"), numeric=True),
    _object("[E for _ in OBJ][0]", _method("__iter__", "return iter((TOUCH(1.0),))")),
    _object("dict(OBJ, value=E)[\"value\"]", _method("keys", "TOUCH(1.0)\n    return ()")),
    _object("{**OBJ, 0: E}[0]", _method("keys", "TOUCH(1.0)\n    return ()")),
    _object("(dict(OBJ) or E)", _method("__iter__", "TOUCH(1.0)\n    return iter(())")),
    _object("(lambda value, **named: value)(E, **OBJ)", _method("keys", "TOUCH(1.0)\n    return ()")),
    _object("(lambda value, *more: value)(E, *OBJ)", _method("__iter__", "TOUCH(1.0)\n    return iter(())")),
    _object("[E for _, _ in zip(range(1), OBJ)][0]", _method("__iter__", "return iter((TOUCH(1.0),))")),
    _object("[E for _, _ in enumerate(OBJ)][0]", _method("__iter__", "return iter((TOUCH(1.0),))")),
    _object("[E for _ in sorted(OBJ)][0]", _method("__iter__", "return iter((TOUCH(1.0),))")),
    _object("[E for _ in reversed(OBJ)][0]", _method("__reversed__", "return iter((TOUCH(1.0),))")),
    _object("[E for _ in range(OBJ)][0]", _method("__index__", "TOUCH(1.0)\n    return 1")),
    _object("(E,)[:OBJ][0]", _method("__index__", "TOUCH(1.0)\n    return 1")),
    _object("(E * jnp.asarray(OBJ))", _method("__array__", "return np.asarray(TOUCH(1.0))", "*_, **__"), numeric=True, imports="import numpy as np\nimport jax.numpy as jnp"),
    _object("(E * max(OBJ, key=len))", _method("__iter__", "return iter((TOUCH(1.0),))"), numeric=True),
    _object("(E * round(OBJ))", _method("__round__", "return TOUCH(1.0)"), numeric=True),
    _object("(E * (OBJ @ 1))", _method("__matmul__", "return TOUCH(1.0)", "other"), numeric=True),
    _object("(E if OBJ is not None and OBJ else E)", _method("__bool__", "TOUCH(1.0)\n    return True")),
    _object("(OBJ or E)", _method("__bool__", "TOUCH(1.0)\n    return False")),
    _object("(E if not OBJ else E)", _method("__bool__", "TOUCH(1.0)\n    return True")),
    _object("(E if 0 < OBJ < 2 else E)", _method("__gt__", "TOUCH(1.0)\n    return True", "other"), _method("__lt__", "return True", "other")),
    _object('("{}".format(OBJ) and E)', _method("__str__", 'TOUCH(1.0)\n    return "text"')),
    _object('("%s" % OBJ and E)', _method("__str__", 'TOUCH(1.0)\n    return "text"')),
    _object("(E if callable(OBJ) or OBJ == OBJ else E)", _method("__eq__", "TOUCH(1.0)\n    return True", "other"), own=True),
    _object("(isinstance(E, OBJ) or E)", _method("__instancecheck__", "TOUCH(1.0)\n    return False", "value")),
)
# fmt: on
# fmt: off
STATEMENTS = (
    _direct("TOUCH(1.0)"),
    _direct("_ = [TOUCH(value) for value in range(1)]"),
    _direct("assert TOUCH(1.0) is not None"),
    _direct("for _ in map(TOUCH, (1.0,)): pass"),
    _direct('exec("TOUCH(1.0)")'),
    _direct("_ = sorted((1.0, 2.0), key=TOUCH)"),
    _direct("_ = any(map(TOUCH, (0.0,)))"),
    _direct("if TOUCH(1.0) is None: pass"),
    _direct("_, *_rest = map(TOUCH, (1.0, 2.0))"),
    _direct("with contextlib.suppress(ValueError): raise ValueError(TOUCH(1.0))", "import contextlib"),
    _object("with OBJ: pass", _method("__enter__", "TOUCH(1.0)"), _method("__exit__", "return None", "*raised")),
    _object("for _ in OBJ: pass", _method("__iter__", "return iter((TOUCH(1.0),))")),
    _object("_, = OBJ", _method("__iter__", "return iter((TOUCH(1.0),))")),
    _object("OBJ[0] = 1", _method("__setitem__", "TOUCH(1.0)", "at, value")),
    _object("del OBJ[0]", _method("__delitem__", "TOUCH(1.0)", "at")),
    _object("OBJ.METHOD = 1", _method("__setattr__", "TOUCH(1.0)", "name, value")),
    _object("del OBJ.METHOD", _method("__delattr__", "TOUCH(1.0)", "name")),
    _object("_ = OBJ.METHOD", _method("METHOD", "return TOUCH(1.0)", decorator="@property")),
    _object("OBJ.METHOD", _method("METHOD", "return TOUCH(1.0)", decorator="@property")),
    _object("assert OBJ", _method("__bool__", "TOUCH(1.0)\n    return True")),
    _object("while OBJ: break", _method("__bool__", "TOUCH(1.0)\n    return True")),
    _object("_ = OBJ; _ += 1", _method("__iadd__", "return TOUCH(other)", "other")),
    _object("if OBJ != 1: pass", _method("__ne__", "TOUCH(1.0)\n    return True", "other"), own=True),
    _object("_ = f\"{OBJ!r}\"", _method("__repr__", 'TOUCH(1.0)\n    return "text"'), own=True),
)
# fmt: on
