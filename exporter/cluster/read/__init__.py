"""The API's objects become the facts that probes judge: plain data, no opinion."""
