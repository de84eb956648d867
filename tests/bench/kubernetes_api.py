"""An API server with a thousand nodes as clusters have them, 17 MB of JSON: ``python -m ... NODES PORT``."""

import asyncio
import json
import sys
from typing import Any

from aiohttp import web

IMAGES, MANAGED_FIELDS, LABELS = 50, 60, 40


def node(number: int) -> dict[str, Any]:
    """Return one node of about 17 KB, most of it images and managed fields."""
    name = f"gpu-{number:04}"
    labels = {f"feature.node.kubernetes.io/cpu-cpuid.FEATURE{one}": "true" for one in range(LABELS)}
    images = [
        {"names": [f"registry.example/team/image-{one}@sha256:{one:064x}", f"image:{one}"], "sizeBytes": 10**9}
        for one in range(IMAGES)
    ]
    fields = {f"f:feature.node.kubernetes.io/cpu-cpuid.FEATURE{one}": {"f:x": {}} for one in range(MANAGED_FIELDS)}
    managed = {"manager": "kubelet", "operation": "Update", "time": "2026-11-30T10:00:00Z", "fieldsV1": fields}
    conditions = [
        {"type": kind, "status": "False", "reason": f"KubeletHas{kind}", "lastTransitionTime": "2026-11-30T10:00:00Z"}
        for kind in ("MemoryPressure", "DiskPressure", "PIDPressure", "Ready")
    ]
    amounts = {"cpu": "192", "memory": "2113529900Ki", "nvidia.com/gpu": "8", "rdma/hca_shared_devices_a": "1k"}
    meta = {"name": name, "uid": f"uid-{number}", "resourceVersion": str(number + 1), "labels": labels}
    return {
        "metadata": {**meta, "managedFields": [managed, managed]},
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": conditions, "images": images},
    }


def pages(count: int, limit: int) -> list[bytes]:
    """Return the pages of the list of all nodes, as they are sent."""
    nodes = [node(number) for number in range(count)]
    starts = range(0, count, limit)
    return [
        json.dumps(
            {
                "metadata": {"resourceVersion": "9999", "continue": str(at + limit) if at + limit < count else ""},
                "items": nodes[at : at + limit],
            }
        ).encode()
        for at in starts
    ]


def main(count: int, port: int) -> None:
    """Serve until killed."""
    one = json.dumps(node(0)).encode()
    kept = {limit: pages(count, limit) for limit in (200, count)}

    async def nodes(request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            response = web.StreamResponse()
            await response.prepare(request)
            await asyncio.Event().wait()
            return response
        limit = int(request.query.get("limit", "0")) or count
        return web.Response(
            content_type="application/json", body=kept[limit][int(request.query.get("continue", "0")) // limit]
        )

    async def patch(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(content_type="application/json", body=one)

    async def metrics(request: web.Request) -> web.Response:
        return web.Response(text=f"list_bytes {sum(map(len, kept[200]))}\n")

    app = web.Application()
    app.router.add_get("/api/v1/nodes", nodes)
    app.router.add_patch("/api/v1/nodes/{name}/status", patch)
    app.router.add_get("/metrics", metrics)
    web.run_app(app, host="127.0.0.1", port=port, print=None)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
