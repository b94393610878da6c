"""Verifications as text, JSON, HTML, Markdown and JUnit. The functions here need rich, imported on the first call."""

from typing import TYPE_CHECKING

from scanify.on_call import on_call

if TYPE_CHECKING:
    from scanify.report.verification.text import print_verification, verification_text
else:
    print_verification, verification_text = (
        on_call("scanify.report.verification.text", name) for name in ("print_verification", "verification_text")
    )

__all__ = ["print_verification", "verification_text"]
