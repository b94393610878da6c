"""Values with some other fields: what `dataclasses.replace` gives."""

import dataclasses
import typing

import pytest

from scanify.analysis.values import domain, heap, marks
from scanify.analysis.values.replace import replace
from scanify.analysis.values.run import effects

_KINDS = [*typing.get_args(domain.Value), marks.Mark, effects.Effect, heap.Group, heap.ListCell, heap.DictCell]


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: kind.__name__)
def test_a_copy_with_another_field_is_that_of_dataclasses(kind: type) -> None:
    fields = [each for each in dataclasses.fields(kind) if each.init]
    value = kind(**{each.name: object() for each in fields})
    for each in fields:
        other = object()
        mine, theirs = replace(value, **{each.name: other}), dataclasses.replace(value, **{each.name: other})
        assert type(mine) is kind
        assert vars(mine) == vars(theirs)
        assert getattr(value, each.name) is not other
