"""The language server: reports findings in an editor while the user types.

app ── Open texts ─> jobs (in a process of their own) ── Finding ─> placed ─> diagnostics, actions, hovers
"""

from typing import TYPE_CHECKING

from scanify.on_call import on_call

if TYPE_CHECKING:
    from scanify.server.app import serve
else:
    serve = on_call("scanify.server.app", "serve")  # needs pygls

__all__ = ["serve"]
