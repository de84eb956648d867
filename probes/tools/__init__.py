"""External tools: a typed request becomes an argv, and the tool's text becomes plain data."""
