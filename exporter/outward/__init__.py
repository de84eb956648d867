"""What the gate tells a Kubernetes cluster by itself, where that is asked for: a condition of each node, and Events."""
