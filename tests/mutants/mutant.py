"""A wrong rewrite: a model, its right rewrite, and what is replaced in that."""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.fixture_helpers import replaced

REMAT = "nested"

Texts = Mapping[str, str]
Changes = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Model:
    """The texts of a model by path, before and after a right rewrite, and the text of its cases.

    `target` is the file that is rewritten, `case` the function of `cases` that is run, under `policies`; `requested`
    is the policy that the rewrite was asked for.
    """

    name: str
    before: Texts
    after: Texts
    target: str
    cases: str
    case: str
    policies: tuple[str | None, ...] = (REMAT,)
    requested: str | None = REMAT


@dataclass(frozen=True)
class Mutant:
    """`changes` are applied to the text after the rewrite, `both` before that to the text before as well. `first` are
    applied to the text after the rewrite before all others: another right rewrite, which has what `both` changes.

    `caught` is the check that tells it (`tests.mutants.checks`), and `says` a pattern in what it says; `only` where no
    other check does; `silent` are checks that see nothing. With `abstract` there are no values, and the traced
    programs alone must tell.
    """

    title: str
    model: Model
    changes: Changes
    caught: str
    only: bool = False
    silent: tuple[str, ...] = ()
    both: Changes = ()
    first: Changes = ()
    says: str = ""
    abstract: bool = False

    def __str__(self) -> str:
        return f"{self.title}, {self.model.name}"

    @property
    def before(self) -> Texts:
        return replaced(self.model.before, self.model.target, *self.both)

    @property
    def right(self) -> Texts:
        """The right rewrite of what is before."""
        return replaced(self.model.after, self.model.target, *self.first, *self.both)

    @property
    def after(self) -> Texts:
        return replaced(self.right, self.model.target, *self.changes)
