"""What a test pod told goes on counting while it would be made of the same, and asked the same, under the plan of now.

So an edited target of a path makes no pod, and an edited template makes a new one on each node.
"""

from exporter.plan import Pool
from exporter.plan.content_digest import as_asked, content_digest
from exporter.plan.pods import pod_specs


def pod_digest(pool: Pool) -> str:
    """Return the SHA-256 of all in the plan that makes the pool's test pods and what they run; empty without any.

    When pods are due, how many there may be and how long they stay changes nothing about them.
    """
    pods = pool.test_pods
    if pods is None:
        return ""
    asked = [as_asked(spec) for spec in pod_specs(pool)]
    made = (pods.namespace, pods.template, pods.labels, pods.limit_seconds)
    return content_digest((*made, sorted(asked, key=lambda spec: spec.id)))
