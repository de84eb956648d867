module rdma-gate.io/deploy/kube/assets/pause

go 1.26.0
