"""The container image, built with whatever engine is here, on a base made here where no registry can be reached."""
