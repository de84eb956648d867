"""What a test of a path or a group told goes on counting while the plan of now would have it tested the same.

So an edit of one test leaves what the others told, and an edited test is run anew.
"""

from collections.abc import Mapping
from typing import Any

from exporter.assignment import ProbeSpec
from exporter.plan import PlannedGroups, Pool
from exporter.plan.content_digest import as_asked, content_digest


def digests_of_tests(pool: Pool) -> Mapping[str, str]:
    """Return ``digest_of_test`` of each test of the pool, by its id."""
    return {spec.id: digest_of_test(pool, spec) for spec in pool.every_test}


def digest_of_test(pool: Pool, spec: ProbeSpec) -> str:
    """Return the SHA-256 of all in the plan that one of the pool's tests is made of, and its result means.

    How often it runs and how long a result counts changes nothing about one, nor does which paths are chosen.
    """
    return content_digest((as_asked(spec), _groups(pool, spec), _ends(pool)))


def _groups(pool: Pool, spec: ProbeSpec) -> PlannedGroups | None:
    """A group of another size is no proof of its nodes."""
    return next((one.groups for one in pool.group_tests if one.spec.id == spec.id), None)


def _ends(pool: Pool) -> tuple[Any, ...]:
    """Pods of another template have other libraries and networks; an edit of it makes new ones at once."""
    pods = pool.test_pods
    return () if pods is None else (pods.namespace, pods.template, pods.labels)
