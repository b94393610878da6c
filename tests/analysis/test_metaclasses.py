"""A metaclass may make another object of what the class is not given."""

from scanify.analysis.plan import Holds, Plan, Refusal
from tests.analysis.helpers import model, only

META = """\
class Meta(type(eqx.Module)):
    def __call__(cls, *args, rate=0.0, **kwargs):
        made = super().__call__(*args, **kwargs)
        return made if rate == 0.0 else Other()


class Block(eqx.Module, metaclass=Meta):
    linear: eqx.nn.Linear

    def __init__(self, dim, *, key):"""


def of_metaclass(built: str) -> Plan | Refusal:
    text = model(init=built)
    start, end = text.index("class Block("), text.index("        self.linear = eqx.nn.Linear(dim, dim, key=key)")
    return only(text[:start] + META + "\n" + text[end:])


def test_a_metaclass_may_make_another_object_of_what_the_class_is_not_given() -> None:
    """`rate` goes to no field of the block, and yet decides of which class it is."""
    differing = "self.layers = [Block(8, key=k, rate=r) for r, k in zip(depth, jr.split(key, 4))]"
    found = of_metaclass(differing)
    assert isinstance(found, Refusal) or found.holds is Holds.BLOCK_SEQ, found
    same = of_metaclass("self.layers = [Block(8, key=k) for k in jr.split(key, 4)]")
    assert isinstance(same, Plan), same
