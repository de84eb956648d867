"""The five written decisions of the demo: what two machines without Kubernetes and without GPUs cannot show."""

from datetime import UTC, datetime, timedelta

import yaml

LASTS = timedelta(days=30)
NO_KUBERNETES = "no Kubernetes here: there is no device plugin and no pod"
NO_GPU = "no GPU in these machines"
SUBJECTS = {
    "demo-visibility": ("check", "visibility", NO_KUBERNETES),
    "demo-resources": ("check", "resources", NO_KUBERNETES),
    "demo-placement": ("check", "placement", NO_GPU),
    "demo-gpudirect": ("probe", "runtime.gpudirect", NO_GPU),
    "demo-collectives": ("probe", "transfers.collectives", NO_GPU),
}


def decisions_text(now: float) -> str:
    """Return ``decisions.yaml`` for the demo, valid for LASTS from ``now`` (Unix seconds)."""
    expires = (datetime.fromtimestamp(now, UTC) + LASTS).strftime("%Y-%m-%dT%H:%M:%SZ")
    decisions = [
        {
            "id": name,
            key: subject,
            "scope": "all",
            "kind": "not_applicable",
            "requester": "demo user",
            "owner": "demo owner",
            "approver": "demo approver",
            "justification": why,
            "compensating_control": "none needed: nothing is deployed on the strength of a demo",
            "expires": expires,
        }
        for name, (key, subject, why) in SUBJECTS.items()
    ]
    return yaml.safe_dump({"decisions": decisions}, sort_keys=False)
