"""Make text from elsewhere (source, messages, output of a case) safe to show in any document."""

import re

# Characters that XML 1.0 forbids, that control a terminal, or that reverse the direction of text, so that a
# reader sees other code than Python does (https://trojansource.codes).
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]"
)


def visible(text: str) -> str:
    """Replace characters that are invisible or not allowed in a document by Python's escapes.

    Tabs and line feeds are kept; CRLF becomes a line feed. The result can be encoded as UTF-8 and used in XML 1.0.
    """
    return _HIDDEN.sub(_escape, text.replace("\r\n", "\n"))


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape", "backslashreplace").decode("ascii")


def cut(text: str, limit: int) -> str:
    """Return the first `limit` characters of `text`, with a note on the number that was cut."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit:,} more characters)"
