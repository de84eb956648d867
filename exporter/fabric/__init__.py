"""Tests across nodes, on paths and in groups: who tests whom, when, and through which endpoints."""
