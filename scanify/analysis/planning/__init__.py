"""Decisions: each loop over modules becomes a plan or a refusal."""
