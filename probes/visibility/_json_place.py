"""Where in a JSON text it stops being JSON."""

import json


def syntax_place(error: Exception) -> str:
    """Line and column of a syntax error, as people count them."""
    if isinstance(error, json.JSONDecodeError):
        return f"line {error.lineno} column {error.colno}"
    return ""
