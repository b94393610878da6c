"""What the target array-stacked writes, text for text."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from textwrap import dedent, indent

import pytest

from scanify.analysis.facts import Place, Span
from scanify.analysis.plan import InitStack, Kind, Wrap
from scanify.emit import rewrite_texts
from scanify.errors import CheckFailed, ScanifyError

HEAD = """\
from scanify.nn import ArrayStacked
from blocks import Block


class Model:
    def __init__(self, keys):
        self.layers = [Block(k) for k in keys]

    def __call__(self, x, mask, keys, state):
        n = len(keys)
"""
STACKED = HEAD.replace("[Block(k) for k in keys]", "ArrayStacked.of([Block(k) for k in keys])")


def body(text: str) -> str:
    return indent(dedent(text).strip("\n") + "\n", " " * 8)


# name: (the loop, what becomes of it, options)
FORMS: dict[str, tuple[str, str, dict[str, object]]] = {
    "one call of the layer on the carry is a fold": (
        "for layer in self.layers:\n    x = layer(x)\nreturn x",
        "x = self.layers.fold(x)\nreturn x",
        {},
    ),
    "a shared argument and one per layer": (
        "for layer, k in zip(self.layers, keys):\n    x = layer(x, mask, k)\nreturn x",
        "x = self.layers.fold_via(Block.__call__, in_axes=(None, 0))(x, mask, keys)\nreturn x",
        {},
    ),
    "one shared argument": (
        "for layer in self.layers:\n    x = layer(x, mask)\nreturn x",
        "x = self.layers.fold_via(Block.__call__, in_axes=(None,))(x, mask)\nreturn x",
        {},
    ),
    "a keyword per layer": (
        "for layer, k in zip(self.layers, keys):\n    x = layer(x, key=k)\nreturn x",
        'x = self.layers.fold_via(Block.__call__, in_axes=((), {"key": 0}))(x, key=keys)\nreturn x',
        {},
    ),
    "positional and keyword, broken where the line gets long": (
        "for layer, k in zip(self.layers, keys):\n    x = layer(x, mask, key=k)\nreturn x",
        'x = self.layers.fold_via(Block.__call__, in_axes=((None,), {"key": 0}))(\n    x, mask, key=keys\n)\nreturn x',
        {},
    ),
    "one argument a line where they are longer still": (
        """
        for layer, k in zip(self.layers, keys):
            x = layer(
                x,
                mask[:, None, None, :, :],
                jnp.arange(mask.shape[-1], dtype=mask.dtype),
                k=k,
            )
        """,
        """
        x = self.layers.fold_via(Block.__call__, in_axes=((None, None), {"k": 0}))(
            x,
            mask[:, None, None, :, :],
            jnp.arange(mask.shape[-1], dtype=mask.dtype),
            k=keys,
        )
        """,
        {},
    ),
    "another method without arguments": (
        "for layer in self.layers:\n    x = layer.forward(x)\nreturn x",
        "x = self.layers.fold_via(Block.forward)(x)\nreturn x",
        {},
    ),
    "an owner that is not known leaves the body as it is": (
        "for layer in self.layers:\n    x = layer(x, mask)\nreturn x",
        """
        def apply_layer(layer, x):
            x = layer(x, mask)
            return x

        x = self.layers.fold_via(apply_layer)(x)
        return x
        """,
        {"owner": None},
    ),
    "an xs that no argument uses keeps its length": (
        "for layer, k in zip(self.layers, keys):\n    x = layer(x)\nreturn x",
        """
        def apply_layer(layer, x, k):
            x = layer(x)
            return x

        x = self.layers.fold_via(apply_layer, in_axes=(0,))(x, keys)
        return x
        """,
        {},
    ),
    "an argument computed from the layer stays in the body": (
        "for layer in self.layers:\n    x = layer(x, layer.rate)\nreturn x",
        """
        def apply_layer(layer, x):
            x = layer(x, layer.rate)
            return x

        x = self.layers.fold_via(apply_layer)(x)
        return x
        """,
        {},
    ),
    "an argument computed from the carry stays in the body": (
        "for layer in self.layers:\n    x = layer(x, mask + x.shape[0])\nreturn x",
        """
        def apply_layer(layer, x):
            x = layer(x, mask + x.shape[0])
            return x

        x = self.layers.fold_via(apply_layer)(x)
        return x
        """,
        {},
    ),
    "an attribute called like the carry is another thing": (
        "for layer in self.layers:\n    x = layer(x, m.x, f(x=1))\nreturn x",
        "x = self.layers.fold_via(Block.__call__, in_axes=(None, None))(x, m.x, f(x=1))\nreturn x",
        {},
    ),
    "a starred argument stays in the body": (
        "for layer in self.layers:\n    x = layer(x, *mask)\nreturn x",
        """
        def apply_layer(layer, x):
            x = layer(x, *mask)
            return x

        x = self.layers.fold_via(apply_layer)(x)
        return x
        """,
        {},
    ),
    "a longer body is kept word for word": (
        """
        for layer, k in zip(self.layers, keys):  # every layer
            # first

            h = self.norm( x )   # odd
            x = x+layer(h,
                key = k)

            # last
        return x
        """,
        """
        def apply_layer(layer, x, k):  # every layer
            # first

            h = self.norm( x )   # odd
            x = x+layer(h,
                key = k)

            # last
            return x

        x = self.layers.fold_via(apply_layer, in_axes=(0,))(x, keys)
        return x
        """,
        {},
    ),
    "several carries go through one parameter": (
        "for layer in self.layers:\n    x, state = layer(x, state)\nreturn x, state",
        """
        def apply_layer(layer, carry):
            x, state = carry
            x, state = layer(x, state)
            return x, state

        x, state = self.layers.fold_via(apply_layer)((x, state))
        return x, state
        """,
        {"carry": "x, state"},
    ),
    "names that are taken are not used": (
        "for layer in self.layers:\n    x, state = layer(x, state)\nreturn x, state",
        """
        def apply_layer_2(layer, carry_3):
            x, state = carry_3
            x, state = layer(x, state)
            return x, state

        x, state = self.layers.fold_via(apply_layer_2)((x, state))
        return x, state
        """,
        {"carry": "x, state", "taken": ("apply_layer", "carry", "carry_2")},
    ),
    "a tuple pattern is unpacked in the first line": (
        "for _layer, (a, (b, _)), k in zip(self.layers, mask, keys):\n    x = _layer(x, a, b)\nreturn x",
        """
        def apply_layer(_layer, x, item, k):
            a, (b, _) = item
            x = _layer(x, a, b)
            return x

        x = self.layers.fold_via(apply_layer, in_axes=(0, 0))(x, mask, keys)
        return x
        """,
        {},
    ),
    "a name bound twice by the header is two parameters": (
        "for layer, _, _ in zip(self.layers, mask, keys):\n    x = layer(x)\nreturn x",
        """
        def apply_layer(layer, x, item, _):
            x = layer(x)
            return x

        x = self.layers.fold_via(apply_layer, in_axes=(0, 0))(x, mask, keys)
        return x
        """,
        {},
    ),
    "a body on the header's line": (
        "for l in self.layers: x = l(x)  # short\nreturn x",
        "x = self.layers.fold(x)  # short\nreturn x",
        {},
    ),
    "a longer body on the header's line": (
        "for l in self.layers: h = l(x); x = x + h  # short\nreturn x",
        """
        def apply_l(l, x):
            h = l(x); x = x + h  # short
            return x

        x = self.layers.fold_via(apply_l)(x)
        return x
        """,
        {},
    ),
    "comments around the only statement": (
        """
        for layer in self.layers:  # every layer
            # before

            # before again
            x = layer(x)  # after

            # below
        # not of the loop
        return x
        """,
        """
        # every layer
        # before
        # before again
        # below
        x = self.layers.fold(x)  # after
        # not of the loop
        return x
        """,
        {},
    ),
    "a comment behind that does not fit goes above": (
        "for layer in self.layers:\n    x = layer(x, mask)  # a comment that is rather long for such a line\nreturn x",
        """
        # a comment that is rather long for such a line
        x = self.layers.fold_via(Block.__call__, in_axes=(None,))(x, mask)
        return x
        """,
        {},
    ),
    "a comment for a tool stays on its line": (
        "for layer in self.layers:\n    x = layer(x, mask)  # type: ignore[arg-type]\nreturn x",
        "x = self.layers.fold_via(Block.__call__, in_axes=(None,))(x, mask)  # type: ignore[arg-type]\nreturn x",
        {},
    ),
    "comments inside the header and the call": (
        """
        for layer, k in zip(  # walk both
            self.layers,
            keys[  # from the front
                :n
            ],
        ):
            x = layer(
                x,  # the carry
                mask,
                k,
            )
        return x
        """,
        """
        # walk both
        # the carry
        x = self.layers.fold_via(Block.__call__, in_axes=(None, 0))(
            x,
            mask,
            keys[  # from the front
                :n
            ],
        )
        return x
        """,
        {},
    ),
    "the same comment twice is kept twice": (
        "for layer in self.layers:  # here\n    x = layer(x)  # here\nreturn x",
        "# here\nx = self.layers.fold(x)  # here\nreturn x",
        {},
    ),
    "two loops of one function have two functions": (
        "for layer in self.layers:\n    x = x + layer(x)\nfor layer in self.layers:\n    x = x - layer(x)\nreturn x",
        """
        def apply_layer(layer, x):
            x = x + layer(x)
            return x

        x = self.layers.fold_via(apply_layer)(x)

        def apply_layer_2(layer, x):
            x = x - layer(x)
            return x

        x = self.layers.fold_via(apply_layer_2)(x)
        return x
        """,
        {},
    ),
    "a loop in a block": (
        "if mask:\n    for layer in self.layers:\n        x = x + layer(x)\nreturn x",
        """
        if mask:
            def apply_layer(layer, x):
                x = x + layer(x)
                return x

            x = self.layers.fold_via(apply_layer)(x)
        return x
        """,
        {},
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_form(name: str, rewrite: Callable[..., str]) -> None:
    loop, expected, options = FORMS[name]
    after = body(expected)
    if after.lstrip().startswith("def "):  # a function stands apart from the line above it
        after = "\n" + after
    assert rewrite(HEAD + body(loop), **options) == STACKED + after


@pytest.mark.parametrize("name", FORMS)
def test_form_with_other_newlines(name: str, rewrite: Callable[..., str]) -> None:
    loop, _, options = FORMS[name]
    expected = rewrite(HEAD + body(loop), **options)
    crlf = (HEAD + body(loop)).replace("\n", "\r\n")
    assert rewrite(crlf, **options) == expected.replace("\n", "\r\n")
    assert rewrite((HEAD + body(loop)).removesuffix("\n"), **options) == expected.removesuffix("\n")


def test_stacking_inside_the_call_leaves_the_list_alone(rewrite: Callable[..., str]) -> None:
    loop = body("for layer in self.layers:\n    x = layer(x)\nreturn x")
    assert rewrite(HEAD + loop, stack="call") == HEAD + body("x = ArrayStacked.of(self.layers).fold(x)\nreturn x")
    assert rewrite(HEAD + loop, stack="call", remat="nested") == HEAD + body(
        'x = ArrayStacked.of(self.layers, gradient_checkpointing="nested").fold(x)\nreturn x'
    )


def test_a_container_that_is_no_plain_name_is_put_in_parentheses(rewrite: Callable[..., str]) -> None:
    text = HEAD + body("for layer in mask or self.layers:\n    x = layer(x)\nreturn x")
    new = rewrite(text, container="mask or self.layers")
    assert new == HEAD + body("x = (mask or self.layers).fold(x)\nreturn x")


def test_a_loop_of_the_module_stands_two_lines_apart(rewrite: Callable[..., str]) -> None:
    text = (
        "from scanify.nn import ArrayStacked\nlayers = [f, g]\nfor layer in layers:\n    x = x + layer(x)\nprint(x)\n"
    )
    assert rewrite(text, container="layers") == (
        "from scanify.nn import ArrayStacked\nlayers = ArrayStacked.of([f, g])\n\n\n"
        "def apply_layer(layer, x):\n    x = x + layer(x)\n    return x\n\n\n"
        "x = layers.fold_via(apply_layer)(x)\nprint(x)\n"
    )


# What stands after `self.layers = `, and what becomes of it, without and with a policy.
SITES = {
    "[Block(k) for k in keys]": (
        "of([Block(k) for k in keys])",
        'of([Block(k) for k in keys], gradient_checkpointing="full")',
    ),
    "Block(0), Block(1)": ("of((Block(0), Block(1)))", 'of((Block(0), Block(1)), gradient_checkpointing="full")'),
    "(Block(0), Block(1))": ("of((Block(0), Block(1)))", 'of((Block(0), Block(1)), gradient_checkpointing="full")'),
    "Block(0),": ("of((Block(0),))", 'of((Block(0),), gradient_checkpointing="full")'),
    "*keys, Block(0)": ("of((*keys, Block(0)))", 'of((*keys, Block(0)), gradient_checkpointing="full")'),
    "(Block(k) for k in keys)": (
        "of((Block(k) for k in keys))",
        'of((Block(k) for k in keys), gradient_checkpointing="full")',
    ),
    "tuple(Block(k) for k in keys)": (
        "of(tuple(Block(k) for k in keys))",
        'of(tuple(Block(k) for k in keys), gradient_checkpointing="full")',
    ),
    "[  # some\n  Block(k)  # one\n  for k in keys\n]": (
        "of([  # some\n  Block(k)  # one\n  for k in keys\n])",
        'of([  # some\n  Block(k)  # one\n  for k in keys\n], gradient_checkpointing="full")',
    ),
    "make() if keys else [Block(0)]": (
        "of(make() if keys else [Block(0)])",
        'of(make() if keys else [Block(0)], gradient_checkpointing="full")',
    ),
}


WIDE = f"\n\n{'x' * 120}\n"  # a file that has such lines may get more of them


@pytest.mark.parametrize("built", SITES)
def test_the_list_is_wrapped_where_it_is_built(built: str, rewrite: Callable[..., str]) -> None:
    loop = body("for layer in self.layers:\n    x = layer(x)\nreturn x") + WIDE
    text = HEAD.replace("[Block(k) for k in keys]", built) + loop
    plain, policy = SITES[built]
    loop = body("x = self.layers.fold(x)\nreturn x") + WIDE
    head = HEAD.replace("[Block(k) for k in keys]", "ArrayStacked.")
    assert rewrite(text) == head.replace("ArrayStacked.\n", f"ArrayStacked.{plain}\n") + loop
    assert rewrite(text, remat="full") == head.replace("ArrayStacked.\n", f"ArrayStacked.{policy}\n") + loop


def test_a_line_that_gets_too_long_is_broken_as_black_would(rewrite: Callable[..., str]) -> None:
    loop = body("for layer in self.layers:\n    x = layer(x)\nreturn x")
    folded = body("x = self.layers.fold(x)\nreturn x")
    new = rewrite(HEAD + loop, remat="nested")
    broken = """\
        self.layers = ArrayStacked.of(
            [Block(k) for k in keys], gradient_checkpointing="nested"
        )
"""
    assert new == HEAD.replace("        self.layers = [Block(k) for k in keys]\n", broken) + folded
    new = rewrite(HEAD.replace("in keys]", "in keys[1:] if k is not None]  # all") + loop, remat="nested")
    broken = """\
        self.layers = ArrayStacked.of(
            [Block(k) for k in keys[1:] if k is not None],
            gradient_checkpointing="nested",
        )  # all
"""
    assert new == HEAD.replace("        self.layers = [Block(k) for k in keys]\n", broken) + folded


def test_a_long_stack_in_the_call_is_broken_before_the_last_parentheses(rewrite: Callable[..., str]) -> None:
    text = HEAD + body("for layer in self.layers:\n    x = layer(x, mask)\nreturn x")
    assert rewrite(text, stack="call", remat="nested") == HEAD + body(
        """
        x = ArrayStacked.of(self.layers, gradient_checkpointing="nested").fold_via(
            Block.__call__, in_axes=(None,)
        )(x, mask)
        return x
        """
    )


def test_a_long_stack_and_long_arguments_are_both_broken(rewrite: Callable[..., str]) -> None:
    arguments = "x, mask[:, None, None, None, :, :], jnp.arange(mask.shape[-1], dtype=mask.dtype)"
    lines = arguments.replace(", mask[", ",\n    mask[").replace(", jnp", ",\n    jnp")
    loop = f"for layer in self.layers:\n    x = layer({lines})\nreturn x"
    assert rewrite(HEAD + body(loop), stack="call", remat="nested") == HEAD + body(
        """
        x = ArrayStacked.of(self.layers, gradient_checkpointing="nested").fold_via(
            Block.__call__, in_axes=(None, None)
        )(
            x,
            mask[:, None, None, None, :, :],
            jnp.arange(mask.shape[-1], dtype=mask.dtype),
        )
        return x
        """
    )


def test_a_list_that_touches_a_keyword(plans_of: Callable[..., list]) -> None:
    path = Path("make.py")
    make = "from blocks import Block\nfrom scanify.nn import ArrayStacked\n\ndef make():\n    return[Block(1)]\n"
    model = HEAD + body("for layer in self.layers:\n    x = layer(x)\nreturn x")
    start = make.index("[Block")
    site = Wrap(Place(path, Span(start, start + len("[Block(1)]"), 5, 5)))
    plans = [replace(plan, stack=InitStack((site,))) for plan in plans_of(model)]
    new = rewrite_texts({path: make, Path("model.py"): model}, plans)
    assert new[path] == make.replace("return[Block(1)]", "return ArrayStacked.of([Block(1)])")
    assert new[Path("model.py")] == HEAD + body("x = self.layers.fold(x)\nreturn x")


@pytest.mark.parametrize("end", ["", "\n", "\n\n    # below\n"])
def test_an_append_loop_is_followed_by_the_stack(rewrite: Callable[..., str], end: str) -> None:
    append = (
        "self.layers = []\n        for k in keys:\n            self.layers.append(Block(k))  # each\n            # deep"
    )
    text = HEAD.replace("self.layers = [Block(k) for k in keys]", append) + body(
        "for layer in self.layers:\n    x = layer(x)\nreturn x"
    )
    stacked = append + '\n        self.layers = ArrayStacked.of(self.layers, gradient_checkpointing="dots")'
    expected = HEAD.replace("self.layers = [Block(k) for k in keys]", stacked) + body(
        "x = self.layers.fold(x)\nreturn x"
    )
    assert rewrite(text.removesuffix("\n") + end, remat="dots") == expected.removesuffix("\n") + end


def test_an_append_loop_at_the_end_of_a_file(rewrite: Callable[..., str]) -> None:
    text = (
        "from scanify.nn import ArrayStacked\nclass Model:\n    def __call__(self, x):\n"
        "        for layer in self.layers:\n            x = layer(x)\n        return x\n"
        "    def __init__(self):\n        self.layers = []\n        for k in 'abc':\n"
        "            self.layers.append(Block(k))"
    )
    assert rewrite(text).endswith("append(Block(k))\n        self.layers = ArrayStacked.of(self.layers)")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("list[Block]", "ArrayStacked[Block]"),
        ("list", "ArrayStacked"),
        ("'list[Block]'", "'ArrayStacked[Block]'"),
        ('"list[Block]"', '"ArrayStacked[Block]"'),
    ],
)
def test_annotations_follow(rewrite: Callable[..., str], old: str, new: str) -> None:
    loop = body("for layer in self.layers:\n    x = layer(x)\nreturn x")
    text = HEAD.replace("class Model:\n", f"class Model:\n    layers: {old}\n") + loop
    assert f"class Model:\n    layers: {new}\n" in rewrite(text)


def test_two_loops_over_one_list_build_it_once(rewrite: Callable[..., str]) -> None:
    text = HEAD + body("for layer in self.layers:\n    x = layer(x)\nfor l in self.layers:\n    x = l(x)\nreturn x")
    assert rewrite(text) == STACKED + body("x = self.layers.fold(x)\nx = self.layers.fold(x)\nreturn x")


def test_loops_of_two_functions_may_have_functions_of_one_name(rewrite: Callable[..., str]) -> None:
    loop = body("for layer in self.layers:\n    x = x + layer(x)\nreturn x")
    new = rewrite(HEAD + loop + "\n    async def other(self, x):\n" + loop)
    assert new.count("def apply_layer(layer, x):") == 2


def test_no_plans_change_nothing() -> None:
    assert rewrite_texts({Path("a.py"): "x = 1\n"}, []) == {}


def test_a_kind_that_this_target_cannot_express_is_an_error(plans_of: Callable[..., list]) -> None:
    text = HEAD + body("for layer in self.layers:\n    x = layer(x)\nreturn x")
    plans = [replace(plan, kind=Kind.SCAN, ys=("outs",)) for plan in plans_of(text)]
    with pytest.raises(CheckFailed, match=r"model.py:11: expected a fold .* got a scan that collects outputs"):
        rewrite_texts({Path("model.py"): text}, plans)


def test_a_plan_that_points_elsewhere_is_an_error(plans_of: Callable[..., list]) -> None:
    text = HEAD + body("for layer in self.layers:\n    x = layer(x)\nelse:\n    x = 1\nreturn x")
    with pytest.raises(CheckFailed, match=r"model.py:11: expected the plan to point to one `for` statement"):
        rewrite_texts({Path("model.py"): text}, plans_of(text))


@pytest.mark.parametrize(
    ("options", "said"), [({"remat": "some"}, "full, nested"), ({"target": "haliax"}, "array-stacked")]
)
def test_a_policy_or_target_that_does_not_exist_is_the_users_mistake(options: dict[str, str], said: str) -> None:
    with pytest.raises(ScanifyError, match=said):
        rewrite_texts({}, [], **options)


@pytest.mark.parametrize(("remat", "written"), [("true", "True"), ("False", "False"), ("offload", '"offload"')])
def test_policies_are_written_as_python(rewrite: Callable[..., str], remat: str, written: str) -> None:
    text = HEAD + body("for layer in self.layers:\n    x = layer(x)\nreturn x")
    assert f"keys], gradient_checkpointing={written}\n" in rewrite(text, remat=remat)
