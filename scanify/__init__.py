"""scanify rewrites Python loops over equal layers to scans, and proves the rewrite right."""

__version__ = "0.1.0"
