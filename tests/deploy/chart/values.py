"""Values that people install the chart with, by what they want."""

from typing import Any

PLAN = "cluster: prod-eu-1\n\npools: []\n"
CHOICES: dict[str, dict[str, Any]] = {
    "nothing chosen": {},
    "two gates": {"gate": {"replicas": 2, "plan": PLAN}},
    "a plan and decisions of their own": {"gate": {"planConfigMap": "plan", "decisionsConfigMap": "decisions"}},
    "a plan and decisions in the values": {"gate": {"plan": PLAN, "decisions": "decisions: []\n"}},
    "kept state": {"gate": {"persistence": {"enabled": True, "storageClass": "fast", "size": "10Gi"}}},
    "kept state in a claim of their own": {"gate": {"persistence": {"enabled": True, "existingClaim": "mine"}}},
    "a key of their own": {"key": {"existingSecret": "mine"}},
    "an image by digest": {"image": {"repository": "mirror.example/rdma-gate", "digest": f"sha256:{'a' * 64}"}},
    "static members": {
        "gate": {
            "settings": {
                "log_level": "debug",
                "kubernetes": {"enabled": "no"},
                "members": [{"name": "gpu-001", "url": "http://10.0.0.1:9842"}],
            }
        },
        "node": {"settings": {"every": {"access.ports": "30s"}}},
    },
    "IPv6 on another port": {"listenAddress": "[::]", "port": 19842},
    "RDMA for the nodes": {"node": {"sharedPluginToken": "rdma/hca_shared_devices_a"}},
    "the machine's network": {"node": {"hostNetwork": True}},
    "PodResources": {"node": {"podResources": True, "kubeletDirectory": "/var/lib/k0s/kubelet"}},
    "plugins, workloads and test pods": {
        "rbac": {
            "plugins": [{"namespace": "nvidia-network-operator", "configMaps": ["rdma-devices"]}],
            "workloads": ["inference", "training"],
            "podsEverywhere": True,
        },
        "testPods": {"namespaces": ["training"]},
        "node": {"kubeletSettings": True},
    },
    "conditions and Events": {"outward": {"nodeConditions": True, "events": True}},
    "no roles": {"rbac": {"create": False}},
    "roles for plugins alone": {"rbac": {"dynamicResources": False, "operators": False}},
    "a closed network": {
        "networkPolicy": {
            "from": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
        }
    },
    "an open network": {"networkPolicy": {"enabled": False}},
    "no monitoring": {
        "monitoring": {"serviceMonitor": False, "podMonitor": False, "rules": False, "dashboards": {"enabled": False}}
    },
    "many clusters": {"monitoring": {"cluster": "prod-eu-1", "labels": {"release": "kube-prometheus-stack"}}},
    "chosen machines": {
        "gate": {
            "nodeSelector": {"pool": "cpu"},
            "tolerations": [{"key": "infra", "operator": "Exists"}],
            "affinity": {"nodeAffinity": {}},
            "podLabels": {"team": "platform"},
            "podAnnotations": {"note": "x"},
            "priorityClassName": "system-cluster-critical",
        },
        "node": {
            "nodeSelector": {"nvidia.com/gpu.present": "true"},
            "affinity": {"nodeAffinity": {}},
            "maxUnavailable": 5,
            "podLabels": {"team": "platform"},
            "podAnnotations": {"note": "x"},
            "priorityClassName": "system-node-critical",
        },
        "image": {"pullSecrets": ["pull"]},
    },
}
OPT_INS = ("the machine's network", "PodResources")
