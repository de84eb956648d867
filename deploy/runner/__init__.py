"""The runner: the node role with its own interpreter and loader, for images that have neither."""
