"""The API's objects as far as they are wanted: everything else in an answer is skipped without being decoded.

Every field may be absent, and lists and maps may be ``null``: the API leaves out what is empty, or does not.
"""
