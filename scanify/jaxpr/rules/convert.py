"""Elementwise conversion of the dtype, so that a row of a converted stack is the converted row."""

from typing import Any

from scanify.jaxpr.rules.shapes import Bounds
from scanify.jaxpr.rules.views import SLICE_THROUGH, axis_of, concat, cut, reshape, transpose
from scanify.jaxpr.table import Table


def convert(table: Table, value: int, dtype: Any) -> int:
    inner = table.inputs[value][0] if table.op[value] in ("reshape", "transpose") else value
    if table.op[value] == "reshape":
        return reshape(table, convert(table, inner, dtype), table.shape[value])
    if table.op[value] == "transpose":
        order = table.params[value]
        assert isinstance(order, tuple)
        return transpose(table, convert(table, inner, dtype), order)
    if table.op[value] == "concat":
        pieces = [convert(table, piece, dtype) for piece in table.inputs[value]]
        return concat(table, pieces, axis_of(table, value))
    return table.node("convert_element_type", (), (value,), table.shape[value], dtype)


def _cut(table: Table, value: int, box: Bounds) -> int:
    return convert(table, cut(table, table.inputs[value][0], box), table.dtype[value])


SLICE_THROUGH["convert_element_type"] = _cut
