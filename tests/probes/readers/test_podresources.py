"""The kubelet's PodResources socket is asked over real gRPC, and each way in which it fails has its own reason."""

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from probes import ProbeError
from probes._host import Tree
from probes.readers import podresources
from probes.readers.podresources import open_podresources
from probes.readers.podresources_messages import ClaimedDevice, Device, Held
from tests.probes.kubelet_socket import answer, claim, container, devices, message, pod, refuse, running

GPU, HCA, VF = "nvidia.com/gpu", "rdma/hca_a", "x.io/vfs"
RECORDED = Path(__file__).parents[2] / "fixtures" / "podresources"
TRAINS = pod("train-0", container("main", devices(GPU, "GPU-a", numa=(0,)), devices(HCA, "7")))
TRAIN = (Held("team/train-0", "main", (Device(GPU, "GPU-a", (0,)), Device(HCA, "7"))),)


def opened(kubelet, seconds=60.0):
    """The kubelet's socket, with time for a slow machine."""
    return open_podresources(Tree(kubelet.root), seconds=seconds)


def reason(kubelet, question=lambda found: found.list(), seconds=60.0):
    """Reason and sentence of the error."""
    with pytest.raises(ProbeError) as error, opened(kubelet, seconds) as found:
        question(found)
    return error.value.reason, error.value.summary


def test_what_containers_hold_is_listed():
    held = container("main", devices(GPU, "GPU-a", "GPU-b", numa=(1,)), claims=(claim("n", ("dra.net", "n1", "nic0")),))
    answers = {"List": answer(pod("train-0", held, container("idle")), pod("web", container("web")))}
    with running(answers) as kubelet, opened(kubelet) as found:
        assert found.list() == (
            Held(
                "team/train-0",
                "main",
                (Device(GPU, "GPU-a", (1,)), Device(GPU, "GPU-b", (1,))),
                (ClaimedDevice("team/n", "dra.net", "n1", "nic0"),),
            ),
        )


def test_a_device_of_several_numa_nodes_stands_once():
    groups = (devices(VF, "0000:1a:00.2", numa=(1,)), devices(VF, "0000:1a:00.2", numa=(0,)))
    with running({"GetAllocatableResources": answer(*groups)}) as kubelet, opened(kubelet) as found:
        assert found.allocatable() == (Device(VF, "0000:1a:00.2", (0, 1)),)


@pytest.mark.parametrize("name", ["list", "get"])
def test_what_kubernetes_own_server_wrote_is_read(name):
    data = bytes.fromhex((RECORDED / f"{name}.hex").read_text())
    read = podresources.messages.read_list if name == "list" else podresources.messages.read_pod
    nic = ClaimedDevice("team/nics", "dra.net", "n1", "mlx5-0", ("dra.net/nic=a", "dra.net/nic=b"), "share-1")
    assert read(data) == (
        Held(
            "team/train-0",
            "main",
            (
                Device(GPU, "GPU-a", (0,)),
                Device(GPU, "GPU-b", (0,)),
                Device(GPU, "GPU-c", (1,)),
                Device(HCA, "7"),
                Device(VF, "0000:1a:00.2", (0, 1)),
            ),
            (nic, ClaimedDevice("team/nics", "dra.net", "n1", "mlx5-1")),
        ),
    )


def test_what_kubernetes_own_server_wrote_of_allocatable_devices_is_read():
    data = bytes.fromhex((RECORDED / "allocatable.hex").read_text())
    assert podresources.messages.read_allocatable(data) == (
        Device(GPU, "GPU-a", (0,)),
        Device(GPU, "GPU-b"),  # its plugin said NUMA node -1
        Device(HCA, "7"),
        Device(HCA, "8"),
    )


def test_fields_of_a_newer_kubelet_are_passed_over():
    new = message((90, "new"), (91, 7))
    held = message((1, "main"), (2, devices(GPU, "GPU-a", numa=(0,)) + new), (2, devices(HCA, "7"))) + new
    newer = answer(pod("train-0", held) + new) + new
    with running({"List": newer}) as kubelet, opened(kubelet) as found:
        assert found.list() == TRAIN


def test_one_pod_is_asked_for_by_name():
    asked = []
    answers = {"Get": lambda request, _: asked.append(request) or answer(TRAINS)}
    with running(answers) as kubelet, opened(kubelet) as found:
        assert (found.pod("team/train-0"), asked) == (TRAIN, [message((1, "train-0"), (2, "team"))])


def test_a_pod_that_the_kubelet_does_not_know_holds_nothing():
    answers = {"Get": refuse("UNKNOWN", "pod train-0 in namespace team not found")}
    with running(answers) as kubelet, opened(kubelet) as found:
        assert found.pod("team/train-0") == ()


@pytest.mark.parametrize("answers", [{}, {"Get": refuse("UNKNOWN", "PodResources API Get method disabled")}])
def test_an_older_kubelet_cannot_be_asked_for_one_pod(answers):
    with running({"List": b"", **answers}) as kubelet, opened(kubelet) as found:
        assert found.pod("team/train-0") is None


@pytest.mark.parametrize(
    "answers",
    [{}, {"GetAllocatableResources": refuse("UNKNOWN", "Pod Resources API GetAllocatableResources disabled")}],
)
def test_an_older_kubelet_does_not_tell_its_devices(answers):
    with running({"List": b"", **answers}) as kubelet, opened(kubelet) as found:
        assert found.allocatable() is None


def test_a_list_over_four_mib_is_read():
    ids = [f"GPU-{number:040d}" for number in range(110_000)]
    large = answer(pod("train-0", container("main", devices(GPU, *ids))))
    assert len(large) > 4 << 20
    with running({"List": large}) as kubelet, opened(kubelet) as found:
        (held,) = found.list()
    assert [one.id for one in held.devices] == ids


def test_a_list_over_sixteen_mib_is_unknown_and_no_rate_limit():
    with running({"List": bytes((16 << 20) + 1)}) as kubelet:
        code, sentence = reason(kubelet)
    assert code == "answer_too_large"
    assert sentence.endswith("found, at most 16 MiB wanted")


def test_a_rate_limit_that_ends_is_waited_for():
    limit, count = refuse("RESOURCE_EXHAUSTED", "rejected by rate limit"), []

    def reply(request, context):
        count.append(1)
        return answer(TRAINS) if len(count) == podresources.TRIES else limit(request, context)

    with running({"List": reply}) as kubelet, opened(kubelet) as found:
        assert found.list() == TRAIN


def test_a_rate_limit_that_stays_is_unknown():
    with running({"List": refuse("RESOURCE_EXHAUSTED", "rejected by rate limit")}) as kubelet:
        assert reason(kubelet) == (
            "kubelet_busy",
            f"{podresources.SOCKET}: rejected by rate limit found, fewer questions from others wanted",
        )
        assert len(kubelet.asked) == podresources.TRIES


def test_a_kubelet_that_does_not_answer_is_unknown():
    end = threading.Event()
    with running({"List": lambda *_: bytes(not end.wait(600))}) as kubelet:
        found = reason(kubelet, seconds=0.2)
        end.set()
    assert found == ("kubelet_silent", f"{podresources.SOCKET}: no answer within 0.2 s found, one wanted")


def test_a_kubelet_that_dies_while_it_answers_is_unknown():
    with running({}) as kubelet:
        end = threading.Event()
        kubelet.answers["List"] = lambda *_: kubelet.die() or bytes(not end.wait(600))
        code, _ = reason(kubelet)
        end.set()
    assert code == "kubelet_unreachable"


def test_a_kubelet_that_dies_between_two_answers_is_unknown():
    def questions(found):
        assert found.list() == TRAIN
        kubelet.close()
        found.allocatable()

    with running({"List": answer(TRAINS), "GetAllocatableResources": b""}) as kubelet:
        assert reason(kubelet, questions)[0] == "kubelet_unreachable"


@pytest.mark.parametrize("question", ["list", "allocatable"])
def test_a_broken_answer_is_unknown(question):
    broken = answer(TRAINS)[:-1]
    with running({"List": broken, "GetAllocatableResources": broken}) as kubelet:
        assert reason(kubelet, lambda found: getattr(found, question)())[0] == "answer_unreadable"


def test_any_other_refusal_keeps_its_words():
    with running({"List": refuse("PERMISSION_DENIED", "no")}) as kubelet:
        assert reason(kubelet) == (
            "kubelet_refused",
            f"{podresources.SOCKET}: PERMISSION_DENIED (no) found, an answer wanted",
        )


def test_a_kubelet_without_the_service_is_unknown():
    with running({}) as kubelet:
        assert reason(kubelet)[0] == "question_unknown"


def test_an_absent_socket_says_how_it_is_had(tmp_path):
    with pytest.raises(ProbeError) as error, open_podresources(Tree(tmp_path)):
        pass
    assert (error.value.reason, error.value.summary) == (
        "socket_absent",
        "/var/lib/kubelet/pod-resources/kubelet.sock: no such socket found, the kubelet's wanted (its directory as a "
        "hostPath: node.podResources in the chart, an opt-in)",
    )


def test_a_socket_that_nobody_serves_is_unknown():
    with tempfile.TemporaryDirectory() as root, socket.socket(socket.AF_UNIX) as left:
        left.bind(f"{root}/s")
        with pytest.raises(ProbeError) as error, open_podresources(Tree(root), "/s"):
            pass
    assert error.value.reason == "kubelet_unreachable"


def test_a_socket_of_another_user_says_who_may():
    if os.geteuid() != 0:
        pytest.skip("not run: only root can become another user")
    with running({}) as kubelet:
        kubelet.root.chmod(0o755)
        kubelet.socket.chmod(0o600)
        os.seteuid(65534)
        try:
            found = reason(kubelet)
        finally:
            os.seteuid(0)
    assert found == ("socket_denied", f"{podresources.SOCKET}: permission denied, uid 0 wanted (no capability)")


def test_no_connection_is_left_open():
    with running({"List": answer(TRAINS)}) as kubelet:
        before = open_sockets()
        with opened(kubelet) as found:
            found.list()
            assert open_sockets() > before
        end = time.monotonic() + 60
        while open_sockets() > before and time.monotonic() < end:
            time.sleep(0.01)
        assert open_sockets() <= before


def test_a_machine_without_the_socket_loads_no_grpc():
    code = (
        "import sys\nfrom probes import ProbeError\nfrom probes._host import Tree\n"
        "from probes.readers.podresources import open_podresources\n"
        "try:\n  with open_podresources(Tree('/nonexistent')): pass\n"
        "except ProbeError as error: print(error.reason, [one for one in sys.modules if one.startswith('grpc')])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "socket_absent []\n"


def open_sockets():
    """How many sockets this process has; both ends of a connection to its own server count."""
    return sum(one.is_socket() for one in Path("/proc/self/fd").iterdir() if one.exists())
