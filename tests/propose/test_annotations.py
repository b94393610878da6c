"""What annotations say, odd ones included."""

import typing
from collections.abc import Callable, Sequence
from typing import Annotated, Any, NewType, TypeVar

import jax
import jax.numpy as jnp
import pytest
from jaxtyping import Array, Bool, Float, Inexact, Int, Key, PRNGKeyArray, Shaped

from scanify.propose.values.annotations import (
    Shape,
    array_shape,
    is_callable,
    is_key,
    parse_dims,
    plain,
    sequence_item,
    shown,
    union,
)

Tokens = NewType("Tokens", int)
Bound = TypeVar("Bound", bound=int)


@pytest.mark.parametrize(
    ("text", "dims", "variadic"),
    [
        ("seq dim", ("seq", "dim"), None),
        ("", (), None),
        ("3 h w", ("3", "h", "w"), None),
        ("*batch dim", ("dim",), 0),
        ("batch ... dim", ("batch", "dim"), 1),
        ("*#batch dim", ("dim",), 0),
        ("#batch ?dim", ("batch", "dim"), None),
        ("rows=4 dim", ("4", "dim"), None),
        ("{self.dim} {width}", ("dim", "width"), None),
        ("dim//2 2*dim", ("dim//2", "2*dim"), None),
        ("_ dim", ("_", "dim"), None),
    ],
)
def test_the_dimensions_of_a_shape(text: str, dims: tuple[str, ...], variadic: int | None) -> None:
    assert parse_dims(text) == (dims, variadic)


@pytest.mark.parametrize(
    ("annotation", "shape"),
    [
        (Float[Array, "seq dim"], Shape("float", ("seq", "dim"))),
        (Int[Array, "seq"], Shape("int", ("seq",))),
        (Bool[Array, "s s"], Shape("bool", ("s", "s"))),
        (Inexact[Array, ""], Shape("float", ())),
        (Key[Array, ""], Shape("key", ())),
        (jax.Array, Shape(None, None)),
        (Array, Shape(None, None)),
        (int, None),
        ("Tokenizer", None),
        (None, None),
    ],
)
def test_an_array(annotation: Any, shape: Shape | None) -> None:
    assert array_shape(annotation) == shape


def test_a_shape_of_any_dtype_is_tried_as_floats() -> None:
    assert (found := array_shape(Shaped[Array, "a b"])) is not None and found.dims == ("a", "b")


@pytest.mark.parametrize(
    ("annotation", "name", "yes"),
    [
        (PRNGKeyArray, "anything", True),
        (PRNGKeyArray | None, "key", True),
        (typing.Optional[PRNGKeyArray], "rng", True),  # noqa: UP045
        (Key[Array, ""], "k", True),
        (None, "key", True),
        (None, "dropout_rng", True),
        ("jr.PRNGKey", "key", True),
        (jax.Array, "key", True),
        (jax.Array, "x", False),
        (None, "keys_per_layer", False),
        (str, "key", False),
        (Float[Array, "keys dim"], "key", False),
        (None, "monkey", False),
    ],
)
def test_a_key(annotation: Any, name: str, yes: bool) -> None:
    assert is_key(annotation, name) is yes


@pytest.mark.parametrize(
    ("annotation", "members"),
    [
        (None, ()),
        (int, (int,)),
        (int | None, (int, type(None))),
        (typing.Optional[int], (int, type(None))),  # noqa: UP045
        (None | str | int, (str, int, type(None))),
        (Annotated[int | None, "doc"], (int, type(None))),
    ],
)
def test_a_union(annotation: Any, members: tuple[Any, ...]) -> None:
    assert union(annotation) == members


@pytest.mark.parametrize(
    ("annotation", "kind"),
    [(Annotated[int, "x"], int), (Tokens, int), (Bound, int), (typing.Final[int], int), (str, str)],
)
def test_what_changes_no_value_is_dropped(annotation: Any, kind: Any) -> None:
    assert plain(annotation) is kind


@pytest.mark.parametrize(
    ("annotation", "item"),
    [
        (list[int], (list, int, None)),
        (Sequence[float], (list, float, None)),
        (tuple[int, ...], (tuple, int, None)),
        (tuple[int, int], (tuple, int, 2)),
        (tuple[int, str], None),
        (list, None),
        (dict[str, int], None),
    ],
)
def test_a_sequence(annotation: Any, item: Any) -> None:
    assert sequence_item(annotation) == item


def test_callables() -> None:
    assert is_callable(Callable) and is_callable(Callable[[Array], Array]) and is_callable(typing.Callable[..., Any])
    assert not is_callable(jnp.ndarray) and not is_callable(None)


@pytest.mark.parametrize(
    ("annotation", "text"), [("Tokenizer", "Tokenizer"), (int, "int"), (dict[str, int], "dict[str, int]")]
)
def test_in_a_message(annotation: Any, text: str) -> None:
    assert shown(annotation) == text
