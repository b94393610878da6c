"""What a project asks for: its settings, which findings it wants, and the comments that silence loops."""
