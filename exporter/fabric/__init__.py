"""Path tests across nodes: who tests whom, when, and through which endpoints."""
