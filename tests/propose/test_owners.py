"""Which class and method a loop is in."""

import textwrap

import pytest

from scanify.propose.owners import Owner, class_names, owners

SOURCE = textwrap.dedent("""\
    def free(model, x):
        for layer in model.layers:
            x = layer(x)
        return x

    class Outer:
        class Inner:
            def __call__(self, x):
                def step(x):
                    for layer in self.layers:
                        x = layer(x)
                    return x
                return step(x)

        def encode(self, x):
            for layer in self.layers:
                x = layer(x)
            for layer in self.more:
                x = layer(x)
            return x
    """)


def test_loops_are_grouped_by_class() -> None:
    assert owners(SOURCE, [(3, 3), (11, 11), (17, 17), (19, 19)]) == [
        Owner(None, (), ((3, 3),)),
        Owner("Outer.Inner", ("__call__",), ((11, 11),)),
        Owner("Outer", ("encode",), ((17, 17), (19, 19))),
    ]


def test_classes_in_classes_have_names_and_those_in_functions_none() -> None:
    assert class_names(SOURCE + "def f():\n    class Hidden: ...\n") == ["Outer", "Outer.Inner"]


def test_what_is_no_python_is_told() -> None:
    with pytest.raises(SyntaxError):
        owners("class", [(1, 1)])
