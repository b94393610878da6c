"""Profiles as text, JSON and HTML. The functions exported here need rich, which is imported on the first call."""

from typing import TYPE_CHECKING

from scanify.on_call import on_call

if TYPE_CHECKING:
    from scanify.report.profile.text import print_profile, profile_text
else:
    print_profile, profile_text = (
        on_call("scanify.report.profile.text", name) for name in ("print_profile", "profile_text")
    )

__all__ = ["print_profile", "profile_text"]
