"""By its labels a test pod is known: whose it is, for which node, and until when it may be there.

The owner is the installation (the Lease that its gates share), not one process, so that the next leader finds what the
one before left behind.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

OWNER = "rdma-gate.io/owner"
GATE = "rdma-gate.io/gate"
NODE = "rdma-gate.io/node"
PURPOSE = "rdma-gate.io/purpose"
EXPIRES = "rdma-gate.io/expires"
ID = "rdma-gate.io/id"
TEST = "test"
_VALUE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class Mark:
    """What the labels say: ``owner`` is the installation, ``gate`` the process, ``expires`` is in Unix seconds.

    ``id`` is known before the pod is, so that one whose making was never confirmed is known again.
    """

    id: str
    owner: str
    gate: str
    node: str
    expires: float

    @property
    def labels(self) -> dict[str, str]:
        """The labels of the pod and of its Secret."""
        return {
            OWNER: label_value(self.owner),
            GATE: label_value(self.gate),
            NODE: label_value(self.node),
            ID: self.id,
            PURPOSE: TEST,
            EXPIRES: str(int(self.expires)),
        }


def expiry_of(labels: Mapping[str, str]) -> float | None:
    """Return until when a pod with these labels may be there, in Unix seconds; None where they do not tell."""
    text = labels.get(EXPIRES, "")
    return float(text) if text.isdecimal() else None


def owner_selector(owner: str) -> str:
    """Return the label selector of all test pods of that installation."""
    return f"{OWNER}={label_value(owner)},{PURPOSE}={TEST}"


def label_value(text: str) -> str:
    """Return the text where it may be a label's value, else its digest."""
    return text if _VALUE.fullmatch(text) else hashlib.sha256(text.encode()).hexdigest()[:40]
