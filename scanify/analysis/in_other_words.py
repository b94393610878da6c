"""A file as everything that asks about loops reads it: with loops that say the same in fewer ways."""

from scanify.analysis.by_number import by_number
from scanify.analysis.tails import tails
from scanify.source.parse import Parsed
from scanify.source.reread import reread


def in_other_words(parsed: Parsed) -> Parsed:
    """The file with its loops by number, and those that read the end of what they fill, as plain ones over layers."""
    numbered = by_number(parsed)
    carried, ahead = tails(parsed, numbered)
    changes = [*numbered, *carried]
    return reread(parsed, changes, ahead) if changes else parsed
