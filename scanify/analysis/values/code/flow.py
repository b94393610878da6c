"""How a body ends: what it returns, and what decides between that."""

from dataclasses import dataclass, field

from scanify.analysis.values.domain import Value, join, marked
from scanify.analysis.values.marks import Marks, Vary, merged, raised

TRY = "try"
"""Through what values differ that are bound where an exception may be raised; nothing says that some layers raise."""


@dataclass
class Flow:
    """What a body has returned and yielded so far, and how what decides between its `return`s differs in loops."""

    returned: list[Value] = field(default_factory=list)
    yielded: bool = False
    decided: Marks = ()

    def decide(self, returned: int, marks: Marks) -> None:
        """Note how a condition differs, where more has been returned under it than there was before."""
        known = tuple(mark for mark in marks if mark.via != TRY)
        if known and len(self.returned) > returned:
            self.decided = merged([self.decided, raised(known, Vary.CHOICE)])

    def value(self) -> Value:
        """What the body gives."""
        value = join(self.returned)
        several = self.decided and any(each is not value for each in self.returned)
        return marked(value, self.decided) if several else value
