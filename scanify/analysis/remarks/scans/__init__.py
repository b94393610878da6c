"""Scans that exist and are wrong, a file for each rule."""
