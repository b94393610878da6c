"""Propose cases: from signatures and annotations to an editable case that was tried before it is shown."""
