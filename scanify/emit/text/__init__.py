"""Layout of text: lines, wraps, and the style of the surrounding file."""
