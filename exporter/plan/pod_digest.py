"""What a test pod told goes on counting while it would be made of the same, and asked the same, under the plan of now.

So an edited target of a path makes no pod, and an edited template makes a new one on each node.
"""

import hashlib

import msgspec
from msgspec import structs

from exporter.plan import Pool
from exporter.plan.pods import pod_specs


def pod_digest(pool: Pool) -> str:
    """Return the SHA-256 of all in the plan that makes the pool's test pods and what they run; empty without any.

    When pods are due, how many there may be and how long they stay changes nothing about them.
    """
    pods = pool.test_pods
    if pods is None:
        return ""
    asked = [structs.replace(spec, every_seconds=0.0, fresh_seconds=0.0) for spec in pod_specs(pool)]
    made = (pods.namespace, pods.template, pods.labels, pods.limit_seconds)
    whole = (*made, sorted(asked, key=lambda spec: spec.id))
    return hashlib.sha256(msgspec.json.encode(whole, order="deterministic")).hexdigest()
