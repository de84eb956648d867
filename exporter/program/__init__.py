"""One process put together: its roles, what they share, and its life from start to the last signal."""
