"""`self.__layers` is another field in each class of a lineage that says so."""

from scanify.analysis.plan import Plan
from tests.analysis.helpers import PRELUDE, decide
from tests.texts import texts

BASE = """\
class Trunk(eqx.Module):
    __layers: list

    def __init__(self, depth, *, key):
        self.__layers = [Block(8, key=k) for k in jr.split(key, depth)]

    def __call__(self, x):
        for layer in self.__layers:
            x = layer(x)
        return x


class Net(Trunk):
    __{other}: list

    def __init__(self, depth, *, key):
        super().__init__(depth, key=key)
        self.__{other} = [Block(16, key=k) for k in jr.split(key, depth)]

    def __call__(self, x):
        x = super().__call__(x)
        for layer in self.__{other}:
            x = layer(x)
        return x
"""
HEAD = PRELUDE.partition("class Model")[0]


def test_one_name_in_two_classes_is_two_lists():
    for found in decide(HEAD + BASE.format(other="layers")):
        assert isinstance(found, Plan)
        assert any("fills the list, too" in each for each in texts(found.obligations))


def test_other_names_are_one_list_each():
    found = decide(HEAD + BASE.format(other="tail"))
    assert len(found) == 2 and all(isinstance(each, Plan) for each in found), found
