"""Names of lists of layers and of stacks, and the arrays that they stand for."""

from typing import Any

import numpy as np
import pytest

from scanify.checkpoints.names import Prefix, stack_names, unstack_names
from scanify.checkpoints.saved_array import SavedArray, Stretch
from scanify.errors import ScanifyError


def saved(arrays: dict[str, Any]) -> list[SavedArray]:
    return [
        SavedArray(name, array.dtype.str, array.shape, (Stretch(at, 0, array.nbytes),))
        for at, (name, array) in enumerate(arrays.items())
    ]


def read(given: dict[str, Any], arrays: list[SavedArray]) -> dict[str, Any]:
    """The arrays that the stretches of `arrays` stand for."""
    data = [array.tobytes() for array in given.values()]
    found = {}
    for array in arrays:
        parts = [data[each.source][each.start : each.start + each.size] for each in array.stretches]
        found[array.name] = np.frombuffer(b"".join(parts), array.dtype).reshape(array.shape)
    return found


def of_names(*names: str) -> list[SavedArray]:
    return saved({name: np.arange(6.0).reshape(2, 3) + at for at, name in enumerate(names)})


@pytest.mark.parametrize(
    ("name", "prefix", "stacked"),
    [
        ("layers.{}.weight", "layers", "layers.weight"),
        ("model.layers.{}.attn.weight", "model.layers", "model.layers.attn.weight"),
        ("opt.0.mu.layers.{}.w", "*layers", "opt.0.mu.layers.w"),
        (".layers[{}].linear.weight", ".layers=.layers.stacked", ".layers.stacked.linear.weight"),
        (".opt[0].mu.layers[{}].w", "*.layers=*.layers.stacked", ".opt[0].mu.layers.stacked.w"),
        ("params/layers/{}/w", "params/layers", "params/layers/w"),
        ("layers.{}", "layers", "layers"),
        ("layers.{}.heads.0.w", "layers", "layers.heads.0.w"),
        ("0.{}.w", "0", "0.w"),
        ("params.layer_{}.w", "*layer_{}=*layers", "params.layers.w"),
        ("params/encoder/h_{}/mlp/w", "params/encoder/h_{}=params/encoder/h", "params/encoder/h/mlp/w"),
        ("params.{}.w", "params.{}=params.layers", "params.layers.w"),
        ("block{}x.w", "block{}x=blocks", "blocks.w"),
    ],
)
def test_manners_of_writing_names(name: str, prefix: str, stacked: str) -> None:
    given = {name.format(at): np.arange(6.0).reshape(2, 3) + 10 * at for at in range(12)} | {"head": np.ones(2)}
    made = stack_names(saved(given), Prefix.parse(prefix))
    found = read(given, made)
    assert list(found) == [stacked, "head"]
    assert np.array_equal(found[stacked], np.stack(list(given.values())[:-1]))
    left, _, right = prefix.partition("=")
    back = unstack_names(made, Prefix.parse(f"{right}={left}" if right else left))
    again = read(given, back)
    assert list(again) == list(given)
    assert all(np.array_equal(again[each], given[each]) for each in given)


@pytest.mark.parametrize(("count", "lead"), [(1, (1, 1)), (7, (7, 1)), (12, (4, 3)), (16, (4, 4))])
def test_nested_stacks_have_chunks_in_front(count: int, lead: tuple[int, int]) -> None:
    given = {f"layer_{at}.w": np.arange(6.0).reshape(2, 3) + 10 * at for at in range(count)}
    made = stack_names(saved(given), Prefix.parse("layer_{}=layers"), nested=True)
    assert np.array_equal(read(given, made)["layers.w"], np.stack(list(given.values())).reshape(*lead, 2, 3))
    again = read(given, unstack_names(made, Prefix.parse("layers=layer_{}"), nested=True))
    assert all(np.array_equal(again[each], given[each]) for each in given) and again.keys() == given.keys()


@pytest.mark.parametrize("shape", [(4,), (2, 6), (12, 1), (0, 3)])
def test_a_stack_that_is_not_nested_is_told(shape: tuple[int, ...]) -> None:
    with pytest.raises(ScanifyError, match=r"expected nested stacks, .*'layers\.w' is <f8"):
        unstack_names(saved({"layers.w": np.zeros(shape)}), Prefix.parse("layers=layer_{}"), nested=True)


def test_stacks_within_stacks() -> None:
    given = {f"l.{at}.m.{to}.w": np.array([at, to]) for at in range(3) for to in range(2)}
    inner = stack_names(saved(given), Prefix.parse("*m"))
    made = stack_names(inner, Prefix.parse("l"))
    assert np.array_equal(read(given, made)["l.m.w"], np.array([[[at, to] for to in range(2)] for at in range(3)]))
    back = unstack_names(unstack_names(made, Prefix.parse("l")), Prefix.parse("*m"))
    assert read(given, back).keys() == given.keys()


def test_numbers_in_names_may_begin_with_another() -> None:
    given = {f"h_{at}.w": np.array([at]) for at in range(1, 4)}
    made = stack_names(saved(given), Prefix.parse("h_{1}=h"))
    assert read(given, made)["h.w"][:, 0].tolist() == [1, 2, 3]
    assert read(given, unstack_names(made, Prefix.parse("h=h_{1}"))).keys() == given.keys()


def test_names_with_numbers_within_such() -> None:
    given = {f"a_{at}.b_{to}.w": np.array([at, to]) for at in range(3) for to in range(2)}
    made = stack_names(stack_names(saved(given), Prefix.parse("*b_{}=*b")), Prefix.parse("a_{}=a"))
    assert np.array_equal(read(given, made)["a.b.w"], np.array([[[at, to] for to in range(2)] for at in range(3)]))
    back = unstack_names(unstack_names(made, Prefix.parse("a=a_{}")), Prefix.parse("*b=*b_{}"))
    assert read(given, back).keys() == given.keys()


def test_layers_come_in_the_order_of_their_numbers() -> None:
    given = {f"layers.{at}.w": np.array([at]) for at in (10, 2, 0, 1, 3, 4, 5, 6, 7, 8, 9)}
    made = stack_names(saved(given), Prefix.parse("layers"))
    assert read(given, made)["layers.w"][:, 0].tolist() == list(range(11))


def test_a_layer_of_an_array_that_is_empty() -> None:
    given = {f"layers.{at}.w": np.ones((0, 3)) for at in range(2)}
    assert stack_names(saved(given), Prefix.parse("layers"))[0].shape == (2, 0, 3)


@pytest.mark.parametrize(
    ("names", "prefix", "message"),
    [
        (["layers.0.w", "layers.2.w"], "layers", "expected layers 0 to 2 .* there is no array of layer 1"),
        (["l.0.w", "l.1.w", "l.0.b"], "l", "1 are missing: 'l.1.b'"),
        (["l.0.w", "l.scale"], "l", "expected every name under 'l' to be of a numbered layer; 1 are not: 'l.scale'"),
        (["l.w"], "l", r"expected numbered layers under 'l', such as 'l.0.w'; got 'l.w'. Stacks are .* --unstack"),
        (["m.l.0.w", "b"], "l", r"no name begins with 'l'; there is 'm.l', and `\*l` means them all"),
        (["m.l.0.w", "b"], "blocks", "no name begins with 'blocks'; they begin with 'm', 'b'"),
        (["layers2.0.w"], "layers", "no name begins with 'layers'; they begin with 'layers2'"),
        (["l.0.w", "l[0].w"], "l", "two arrays are of layer 0"),
        (["l.0.w", "s.w"], "l=s", "two arrays would have the name 's.w'"),
        (["l_0.w", "l_2.w"], "l_{}=l", "there is no array of layer 1"),
        (["l_0.w", "l_1.w", "l_1.b"], "l_{}=l", "1 are missing: .*l_"),
        (["l_0.w", "l_1.w"], "l_{1}=l", "expected the first layer .* there is 'l_0.w'"),
        (["m.l_0.w", "m.l_1.w"], "l_{}=l", r"no name begins with 'l_{}'; there is 'm.l_0', .* `\*l_{}` means"),
        (["xl_0.w", "l_01.w"], "l_{}=l", "no name begins with 'l_{}'"),
    ],
)
def test_what_is_not_stacked(names: list[str], prefix: str, message: str) -> None:
    with pytest.raises(ScanifyError, match=message):
        stack_names(of_names(*names), Prefix.parse(prefix))


@pytest.mark.parametrize(("other", "kind"), [(np.ones(2), "<f8.2"), (np.ones(3, np.float32), "<f4.3")])
def test_layers_that_differ_are_not_stacked(other: Any, kind: str) -> None:
    with pytest.raises(ScanifyError, match=rf"'l.0.w' is <f8.3\] and 'l.1.w' is {kind}\]"):
        stack_names(saved({"l.0.w": np.ones(3), "l.1.w": other}), Prefix.parse("l"))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"l.w": np.ones((2, 3)), "l.b": np.ones(3)}, r"number of layers .* 'l.w' is <f8\[2,3\] and 'l.b' is <f8\[3\]"),
        ({"l.w": np.ones((2, 3)), "l.b": np.array(1.0)}, r"'l.b' is <f8\[\]"),
        ({"l.0.w": np.ones((2, 3))}, "expected stacked arrays under 'l', which have no number; .* --stack"),
        ({"l.w": np.ones((0, 3))}, "expected at least one layer"),
        ({"m.w": np.ones((2, 3))}, "no name begins with 'l'; they begin with 'm'"),
        ({"l.w": np.ones((2, 3)), "l2.0.w": np.ones(3)}, "would have the name 'l2.0.w'"),
    ],
)
def test_what_is_not_taken_apart(arrays: dict[str, Any], message: str) -> None:
    becomes = "l=l2" if "l2.0.w" in arrays else "l"
    with pytest.raises(ScanifyError, match=message):
        unstack_names(saved(arrays), Prefix.parse(becomes))


@pytest.mark.parametrize("text", ["", "*", "=b", "a=", "*a=b", "a=*b"])
def test_prefixes_that_mean_nothing(text: str) -> None:
    with pytest.raises(ScanifyError, match="expected what the names begin with"):
        Prefix.parse(text)


@pytest.mark.parametrize("text", ["l_{}", "l_{}_{}=l", "l=l_{}{1}"])
def test_numbers_of_layers_stand_in_one_place(text: str) -> None:
    with pytest.raises(ScanifyError, match="expected the number of layers in one place"):
        Prefix.parse(text)
