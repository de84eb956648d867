"""The real programs of Kubernetes, built from their modules and run on this machine."""
