"""One control plane for all tests, each in a namespace of its own; it is built the first time, and that is said."""

from collections.abc import Callable, Generator, Iterator, Mapping
from itertools import count

import pytest

from deploy.kube.api import Api
from deploy.kube.assets import Assets
from deploy.kube.cluster import ApiServer
from tests.kube import objects

NewNamespace = Callable[..., str]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Function) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What the programs said last stands beside a failure."""
    report = yield
    if report.failed and isinstance(cluster := item.funcargs.get("running"), ApiServer):
        report.sections.append(("control plane", cluster.logs()))
    return report


@pytest.fixture(scope="session")
def running(assets: Assets) -> Iterator[ApiServer]:
    with ApiServer(assets) as cluster:
        cluster.start_controllers()
        cluster.start_scheduler()
        yield cluster


@pytest.fixture
def cluster(running: ApiServer) -> Iterator[ApiServer]:
    """The control plane, all of whose programs run before and after the test."""
    running.check()
    yield running
    running.check()


@pytest.fixture
def api(cluster: ApiServer) -> Api:
    """The API as the administrator sees it."""
    return cluster.api


@pytest.fixture(scope="session")
def numbers() -> Iterator[int]:
    return count(1)


@pytest.fixture
def new_namespace(api: Api, numbers: Iterator[int]) -> NewNamespace:
    """``new_namespace({label: value})`` makes one and returns its name."""

    def make(labels: Mapping[str, str] = objects.NOTHING) -> str:
        return objects.namespace(api, f"test-{next(numbers)}", labels)

    return make


@pytest.fixture
def two_nodes(api: Api) -> Iterator[list[str]]:
    """Two Ready nodes with 64 CPUs, four of example.com/fast each, for one test."""
    names = ["node-a", "node-b"]
    for name in names:
        objects.node(api, name, {"example.com/fast": "4"})
    yield names
    for name in names:
        api.ask("DELETE", f"/api/v1/nodes/{name}")
