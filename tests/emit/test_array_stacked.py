"""What the target array-stacked writes, text for text."""

from collections.abc import Callable

import pytest

from tests.emit.small_model import HEAD, STACKED, body

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
                self.attention_mask_of_queries,
                self.positions_of_the_tokens_of_queries,
                k=k,
            )
        """,
        """
        x = self.layers.fold_via(Block.__call__, in_axes=((None, None), {"k": 0}))(
            x,
            self.attention_mask_of_queries,
            self.positions_of_the_tokens_of_queries,
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
        "for layer in self.layers:\n    x = layer(x, m.x, 1)\nreturn x",
        "x = self.layers.fold_via(Block.__call__, in_axes=(None, None))(x, m.x, 1)\nreturn x",
        {},
    ),
    "an argument that is computed stays in the body, in its precision": (
        "for layer in self.layers:\n    x = layer(x, mask.astype(x_dtype))\nreturn x",
        """
        def apply_layer(layer, x):
            x = layer(x, mask.astype(x_dtype))
            return x

        x = self.layers.fold_via(apply_layer)(x)
        return x
        """,
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
        "for layer in self.layers:\n    x, state = layer(x, state)  # the carry\nreturn x, state",
        """
        def apply_layer_2(layer, carry_2):
            x, state = carry_2
            x, state = layer(x, state)  # the carry
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


def test_two_loops_over_one_list_build_it_once(rewrite: Callable[..., str]) -> None:
    text = HEAD + body("for layer in self.layers:\n    x = layer(x)\nfor l in self.layers:\n    x = l(x)\nreturn x")
    assert rewrite(text) == STACKED + body("x = self.layers.fold(x)\nx = self.layers.fold(x)\nreturn x")


def test_loops_of_two_functions_may_have_functions_of_one_name(rewrite: Callable[..., str]) -> None:
    loop = body("for layer in self.layers:\n    x = x + layer(x)\nreturn x")
    new = rewrite(HEAD + loop + "\n    async def other(self, x):\n" + loop)
    assert new.count("def apply_layer(layer, x):") == 2


@pytest.mark.parametrize(("remat", "written"), [("true", "True"), ("False", "False"), ("offload", '"offload"')])
def test_policies_are_written_as_python(rewrite: Callable[..., str], remat: str, written: str) -> None:
    text = HEAD + body("for layer in self.layers:\n    x = layer(x)\nreturn x")
    assert f"keys], gradient_checkpointing={written}\n" in rewrite(text, remat=remat)
