"""The axes that `--mesh` names."""

import pytest

from scanify.errors import ScanifyError
from scanify.verify.mesh.axes import Axes, device_count, parse_mesh


@pytest.mark.parametrize(
    ("text", "axes"),
    [
        ("2x4", (("data", 2), ("model", 4))),
        ("8", (("data", 8),)),
        ("batch=2,tensor=4", (("batch", 2), ("tensor", 4))),
        (" a=2, b=2, c=2 ", (("a", 2), ("b", 2), ("c", 2))),
    ],
)
def test_a_mesh_has_named_axes(text: str, axes: Axes) -> None:
    assert parse_mesh(text) == axes


def test_its_devices_are_counted() -> None:
    assert device_count(parse_mesh("2x4")) == 8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2x2x2", "needs their names, as in --mesh a=2,b=2,c=2"),
        ("0x4", "sizes, as 2x4, or named axes"),
        ("data=2,4", "sizes, as 2x4, or named axes"),
        ("", "sizes, as 2x4, or named axes"),
        ("a=2,a=4", "a name of its own"),
        ("64x64", "4,096 devices"),
    ],
)
def test_what_is_no_mesh_is_told(text: str, message: str) -> None:
    with pytest.raises(ScanifyError, match=message):
        parse_mesh(text)
