"""How text is laid out: lines, wraps, and the style of the file around."""
