import pytest

from probes._endpoint import Buffer, TestRequest, Tool
from probes.tools.perftest import perftest_argv


def request(tool: Tool, **changes: object) -> TestRequest:
    fixed = {"hca": "mlx5_0", "peer": "b", "message_bytes": 65536, "iterations": 5000, "limit_seconds": 20.0}
    return TestRequest(tool=tool, **(fixed | changes))  # type: ignore[arg-type]


def test_a_bandwidth_server_reports_gigabits() -> None:
    argv = perftest_argv(
        request(Tool.WRITE_BW, queue_pairs=4), device="mlx5_0", gid_index=3, tcp_port=20001, server=None
    )
    assert " ".join(argv) == (
        "stdbuf -oL ib_write_bw -F -d mlx5_0 -i 1 -x 3 -p 20001 -s 65536 -n 5000 -q 4 --report_gbits"
    )


def test_a_latency_client_asks_for_every_sample_and_never_for_queue_pairs() -> None:
    asked = request(Tool.WRITE_LAT, raw_samples=True, message_bytes=2, path_mtu_bytes=4096, traffic_class=106)
    argv = perftest_argv(asked, device="mlx5_1", gid_index=None, tcp_port=20002, server="192.0.2.1")
    assert " ".join(argv) == (
        "stdbuf -oL ib_write_lat -F -d mlx5_1 -i 1 -p 20002 -s 2 -n 5000 -U -m 4096 --tclass=106 192.0.2.1"
    )


@pytest.mark.parametrize(
    ("buffer", "options"),
    [
        (Buffer.HOST, ""),
        (Buffer.CUDA, " --use_cuda_bus_id=0000:1a:00.0"),
        (Buffer.CUDA_DMABUF, " --use_cuda_bus_id=0000:1a:00.0 --use_cuda_dmabuf"),
    ],
)
def test_a_buffer_in_gpu_memory_names_the_gpu_by_its_address(buffer: Buffer, options: str) -> None:
    asked = request(Tool.WRITE_BW, buffer=buffer)
    argv = perftest_argv(asked, device="mlx5_0", gid_index=3, tcp_port=20001, server="192.0.2.1", gpu="0000:1a:00.0")
    end = f" -s 65536 -n 5000 -q 1 --report_gbits{options} 192.0.2.1"
    assert " ".join(argv) == f"stdbuf -oL ib_write_bw -F -d mlx5_0 -i 1 -x 3 -p 20001{end}"


def test_a_gpu_that_was_not_resolved_is_refused() -> None:
    with pytest.raises(ValueError, match="gpu: '' found, a plain name wanted"):
        perftest_argv(request(Tool.WRITE_BW, buffer=Buffer.CUDA), device="d", gid_index=None, tcp_port=1, server=None)


def test_a_tool_of_another_family_is_refused() -> None:
    with pytest.raises(ValueError, match="ib_write_bw"):
        perftest_argv(request(Tool.RC_PINGPONG), device="mlx5_0", gid_index=None, tcp_port=1, server=None)


@pytest.mark.parametrize(("device", "server"), [("--out_json", None), ("mlx5_0", "-R"), ("mlx5_0", "")])
def test_a_name_that_reads_as_an_option_is_refused(device: str, server: str | None) -> None:
    with pytest.raises(ValueError, match="a plain name wanted"):
        perftest_argv(request(Tool.WRITE_BW), device=device, gid_index=None, tcp_port=1, server=server)
