"""Readers turn a machine's files and answers into plain data, with no opinion."""
