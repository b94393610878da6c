"""Calls: functions and classes of the project, methods, builtins, and what libraries are known for."""
