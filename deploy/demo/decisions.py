"""The written decisions of a lab: what two machines without Kubernetes or without GPUs cannot show."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import yaml

LASTS = timedelta(days=30)
NO_KUBERNETES = "no Kubernetes here: there is no device plugin and no pod"
NO_GPU = "no GPU in these machines"
Subjects = Mapping[str, tuple[str, str, str]]
WITHOUT_GPUS = {
    "demo-placement": ("check", "placement", NO_GPU),
    "demo-gpudirect": ("probe", "runtime.gpudirect", NO_GPU),
    "demo-collectives": ("probe", "transfers.collectives", NO_GPU),
}
SUBJECTS = {
    "demo-visibility": ("check", "visibility", NO_KUBERNETES),
    "demo-resources": ("check", "resources", NO_KUBERNETES),
    **WITHOUT_GPUS,
}


def decisions_text(now: float, subjects: Subjects = SUBJECTS) -> str:
    """Return ``decisions.yaml`` for these subjects, valid for LASTS from ``now`` (Unix seconds)."""
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
        for name, (key, subject, why) in subjects.items()
    ]
    return yaml.safe_dump({"decisions": decisions}, sort_keys=False)
