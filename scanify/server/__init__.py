"""The language server: what editors are told while somebody types.

app ── Open texts ─> jobs (in a process of their own) ── Finding ─> placed ─> diagnostics, actions, hovers
"""
