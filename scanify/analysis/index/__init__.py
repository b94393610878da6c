"""The whole project as one index: its files by path and dotted name, and the meaning of each name."""

from scanify.analysis.index.meaning import Definition, External, Meaning, Package
from scanify.analysis.index.module import Module
from scanify.analysis.index.parse import Problem
from scanify.analysis.index.project import Index

__all__ = ["Definition", "External", "Index", "Meaning", "Module", "Package", "Problem"]
