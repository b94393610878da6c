"""Every form of loop that could walk over modules, read as one `Loop`; and the scopes that names live in."""
