"""Plugins are known by two of five signs, whatever their names."""

from dataclasses import replace

import pytest

from probes._workloads import ConfigMapVolume, ContainerSpec, PodSpec
from probes.visibility._plugins import Family, PluginKind, plugin_family, plugin_kind, plugin_signs

REGISTER = ("/var/lib/kubelet/device-plugins",)


def spec(image: str, *arguments: str, paths: tuple[str, ...] = REGISTER) -> PodSpec:
    return PodSpec((ContainerSpec("c", image, arguments),), paths)


@pytest.mark.parametrize(
    ("image", "kind", "family"),
    [
        ("ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3", PluginKind.RDMA_SHARED, Family.RDMA),
        ("ghcr.io/k8snetworkplumbingwg/sriov-network-device-plugin:v3.11", PluginKind.SRIOV, Family.RDMA),
        ("mirror.example.com/ose-sriov-network-device-plugin@sha256:12ab", PluginKind.SRIOV, Family.RDMA),
        ("nvcr.io/nvidia/k8s-device-plugin:v0.20.0", PluginKind.NVIDIA_GPU, Family.GPU),
        ("602401143452.example.com/eks/aws-efa-k8s-device-plugin:v0.5.5", PluginKind.OTHER, Family.RDMA),
        ("docker.io/rocm/k8s-device-plugin:1.31", PluginKind.OTHER, Family.GPU),
        ("registry.example.com/networking/dranet:v1.0", PluginKind.DRA, Family.RDMA),
        ("nvcr.io/nvidia/k8s-dra-driver-gpu:v25.8", PluginKind.DRA, Family.GPU),
    ],
)
def test_an_image_tells_the_kind(image: str, kind: PluginKind, family: Family) -> None:
    assert plugin_signs(spec(image), "x") == {"registration_directory", "image"}
    assert (plugin_kind(spec(image), "x"), plugin_family(spec(image), "x")) == (kind, family)


def test_a_plugin_whose_image_is_a_digest_is_known_by_its_arguments_labels_and_configuration() -> None:
    one = spec("quay.io/openshift/x@sha256:ab", "--config-file=/etc/pcidp/$(NODE_NAME)", paths=())
    one = replace(one, labels={"app": "sriov-device-plugin"}, config_maps=(ConfigMapVolume("device-plugin-config"),))
    assert plugin_signs(one, "x") == {"arguments", "labels", "configuration"}
    assert plugin_kind(one, "x") is PluginKind.SRIOV


def test_a_csi_driver_is_no_plugin_though_it_mounts_the_registry() -> None:
    one = spec("registry.example.com/csi-node-driver-registrar:v2", paths=("/var/lib/kubelet/plugins_registry/",))
    assert plugin_signs(one, "csi-node") == frozenset()


@pytest.mark.parametrize("name", ["gpu-feature-discovery", "nvidia-device-plugin-mps-control-daemon"])
def test_what_shares_the_gpu_plugins_image_is_no_plugin(name: str) -> None:
    one = spec("nvcr.io/nvidia/k8s-device-plugin:v0.20.0", paths=())
    assert plugin_signs(replace(one, config_maps=(ConfigMapVolume("device-plugin-config"),)), name) == frozenset()


def test_an_ordinary_daemonset_has_no_sign() -> None:
    assert plugin_signs(spec("prom/node-exporter:v1", paths=("/", "/sys")), "node-exporter") == frozenset()


def test_one_sign_alone_is_not_enough_to_be_found() -> None:
    from probes.visibility._plugins import is_plugin

    assert not is_plugin(spec("example.com/own:1"), "own")
    assert is_plugin(spec("example.com/own:1", "--config-file", "/a"), "own")
