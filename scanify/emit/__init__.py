"""Emission: plans become edits, edits become texts, and every text is checked before it may be written.

The straight line: a target's module turns plans into edits (`targets/`), `imports` adds what they need, `apply`
applies them, `checks` looks at the result. Nothing here reads or writes files.
"""

from scanify.emit.policy import POLICIES
from scanify.emit.rewrite import rewrite_texts
from scanify.emit.targets import TARGETS

__all__ = ["POLICIES", "TARGETS", "rewrite_texts"]
