"""Published packages, rewritten as a whole: they still parse and import, and what their own tests showed still holds."""
