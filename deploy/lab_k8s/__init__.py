"""The lab as a Kubernetes cluster: two virtual machines as nodes, and the control plane on this machine."""
