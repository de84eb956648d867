from types import ModuleType

from probes import Measured, Status
from probes._endpoint import Tool
from probes.connectivity.send_bandwidth import Probe


async def test_a_clean_path_passes_with_the_clients_bandwidth(ends: ModuleType):
    path = ends.path_playing("send-bw-good")
    (finding,) = await Probe(ends.COMPUTE, volume=65536 * 100).run(path)
    assert (finding.status, finding.reason, finding.measured) == (
        Status.PASS,
        "",
        (Measured("bandwidth", 0.049579 * 1e9 / 8),),
    )
    assert {request.tool for request in path.client.asked} == {Tool.SEND_BW}
    assert finding.samples[0].metric == "send_bandwidth_bytes_per_second"


async def test_the_output_of_a_write_test_is_not_taken_for_a_send_test(ends: ModuleType):
    (finding,) = await Probe(ends.COMPUTE, volume=65536 * 200).run(ends.path_playing("write-bw-good"))
    assert (finding.status, finding.reason) == (Status.UNKNOWN, "not_as_requested")


async def test_a_port_that_counts_nothing_cannot_tell(ends: ModuleType):
    quiet = {"counters_before": {}, "counters_after": {}}
    path = ends.path_of(
        [ends.played("send-bw-good", "client", **quiet)], [ends.played("send-bw-good", "server", **quiet)]
    )
    (finding,) = await Probe(ends.COMPUTE, volume=65536 * 100).run(path)
    assert (finding.status, finding.reason) == (Status.UNKNOWN, "counters_still")
