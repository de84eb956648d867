"""A third member beside the lab's two machines, so that one broken node leaves a pair that can still test each other.

It is a node role of its own (name, key, port, state) in node-a's machine, with the HCA and the address of that machine.
"""

import re
from collections.abc import Sequence

from deploy.demo.session import Member, node_settings
from deploy.lab import Lab, Node, boot
from deploy.lab.node import COMMAND, CONFIG, ENVIRONMENT, POD_UID
from deploy.lab.shape import PLAIN
from exporter.keys import node_key

NAME = "node-c"
PORT = 9843
STATE = "/var/lib/rdma-gate-c"
KEY = "/etc/rdma-gate-c.key"
SETTINGS = "/etc/rdma-gate-c.yaml"
LOG = "/var/log/rdma-gate-c.log"
HOST_PORT_ZERO = f"hostfwd_add outside tcp:127.0.0.1:0-:{PORT}"


def start_spare(lab: Lab, master: str) -> Sequence[Member]:
    """Start it and return it as the gate's settings have a member. It ends with its machine."""
    machine = lab.node("node-a")
    machine.run(["install", "-d", "-o", str(POD_UID), STATE])
    machine.put(KEY, node_key(master.encode(), NAME).hex())
    machine.put(SETTINGS, node_settings(NAME, port=PORT, state=STATE, key=KEY))
    command = [SETTINGS if word == CONFIG else word for word in COMMAND]
    machine.agent.spawn(command, log=LOG, uid=POD_UID, memlock="unlimited", env=ENVIRONMENT)
    return ({"name": NAME, "url": f"http://127.0.0.1:{_forwarded(machine)}", "address": machine.address},)


def _forwarded(machine: Node) -> int:
    """The port of this host that leads to it; QEMU takes a free one."""
    guest = next(one for one in PLAIN.guests if one.name == machine.name)
    with boot.session(guest) as monitor:
        said = monitor("human-monitor-command", **{"command-line": HOST_PORT_ZERO})
        if re.search(r"\S", said):
            raise OSError(f"{NAME}: port {PORT} is not forwarded: {said.strip()}")
        return monitor.forwarded_ports()[PORT]
