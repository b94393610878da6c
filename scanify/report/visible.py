"""Text of others (source, messages, what a case printed) made fit to be shown in any document."""

import re

# What XML 1.0 does not allow, what a terminal would act on, and what turns the direction of text around, so that a
# reader sees other code than Python does (https://trojansource.codes).
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)


def visible(text: str) -> str:
    """`text` with the characters that no document may hold, or no reader could see, as Python's escapes of them.

    Tabs and line feeds stay; carriage return and line feed become a line feed. The result can be encoded as UTF-8 and
    be put into XML 1.0.
    """
    return _HIDDEN.sub(_escape, text.replace("\r\n", "\n"))


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape", "backslashreplace").decode("ascii")


def cut(text: str, limit: int) -> str:
    """The first `limit` characters of `text`, with a word on how many were cut."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit:,} more characters)"
