"""Proposed cases: from signatures and annotations to a case that a user can edit, tried before it is shown."""
