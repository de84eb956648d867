"""What the Kubernetes API knows, kept up to date without ever holding up the loop. Only the gate role comes here.

The ``kubernetes`` package supplies configuration (in-cluster, kubeconfig, exec plugins, CAs) and transport; it is
imported by ``connection`` alone, and only once somebody connects.
"""
