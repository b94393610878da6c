"""Objects: which are the same one, which are alike, and what they hold."""
