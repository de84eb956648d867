package rdmamap

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A guest of the lab: two virtio interfaces, of which eth1 carries rxe0.
var guest = map[string]string{
	"bus/pci/devices/0000:00:03.0/virtio1/net/eth0/address": "52:54:00:99:99:01\n",
	"bus/pci/devices/0000:00:04.0/virtio2/net/eth1/address": "52:54:00:12:34:01\n",
	"class/infiniband/rxe0/parent":                          "eth1\n",
	"class/infiniband_verbs/abi_version":                    "6\n",
	"class/infiniband_verbs/uverbs0/ibdev":                  "rxe0\n",
	"class/infiniband_mad/abi_version":                      "5\n",
	"class/infiniband_mad/umad0/ibdev":                      "rxe0\n",
	"class/misc/rdma_cm/dev":                                "10:58\n",
}

// A server: a VF's device below its own function, behind a bridge, and one with a subnet manager's device.
var server = map[string]string{
	"bus/pci/devices/0000:17:00.0/net/ens1f0/address":          "02:00:00:00:00:01\n",
	"bus/pci/devices/0000:17:00.0/infiniband/mlx5_0/node_guid": "0000:0000:0000:0001\n",
	"bus/pci/devices/0000:17:00.1/infiniband/mlx5_1/node_guid": "0000:0000:0000:0002\n",
	"class/infiniband/mlx5_0/node_guid":                        "0000:0000:0000:0001\n",
	"class/infiniband/mlx5_1/node_guid":                        "0000:0000:0000:0002\n",
	"class/infiniband_verbs/uverbs0/ibdev":                     "mlx5_0\n",
	"class/infiniband_verbs/uverbs1/ibdev":                     "mlx5_1\n",
	"class/infiniband_mad/umad0/ibdev":                         "mlx5_0\n",
	"class/infiniband_mad/issm0/ibdev":                         "mlx5_0\n",
	"class/misc/rdma_cm/dev":                                   "10:58\n",
}

func tree(t *testing.T, files map[string]string, without ...string) Tree {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		if slices.Contains(without, name) {
			continue
		}
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return Tree(root)
}

func same(t *testing.T, found []string, wanted ...string) {
	t.Helper()
	if !slices.Equal(found, wanted) {
		t.Errorf("%q found, %q wanted", found, wanted)
	}
}

func TestASoftDeviceIsFoundByTheInterfaceOfItsVirtioFunction(t *testing.T) {
	same(t, tree(t, guest).DevicesOfFunction("0000:00:04.0"), "rxe0")
}

func TestTheOtherFunctionHasNone(t *testing.T) {
	same(t, tree(t, guest).DevicesOfFunction("0000:00:03.0"))
}

func TestAFunctionThatIsNotThereHasNone(t *testing.T) {
	same(t, tree(t, guest).DevicesOfFunction("0000:00:09.0"))
}

func TestASoftDeviceIsFoundByAPlainInterfaceToo(t *testing.T) {
	files := map[string]string{
		"bus/pci/devices/0000:17:00.0/net/ens1f0/address": "02:00:00:00:00:01\n",
		"class/infiniband/siw0/parent":                    "ens1f0\n",
		"class/infiniband/rxe7/parent":                    "ens1f0\n",
	}
	same(t, tree(t, files).DevicesOfFunction("0000:17:00.0"), "rxe7", "siw0")
}

func TestARemovedSoftDeviceIsNotFound(t *testing.T) {
	same(t, tree(t, guest, "class/infiniband/rxe0/parent").DevicesOfFunction("0000:00:04.0"))
}

func TestTwoFunctionsOfACardHaveADeviceEach(t *testing.T) {
	sys := tree(t, server)
	same(t, sys.DevicesOfFunction("0000:17:00.0"), "mlx5_0")
	same(t, sys.DevicesOfFunction("0000:17:00.1"), "mlx5_1")
}

func TestTheCharacterDevicesAreTheDevicesOwn(t *testing.T) {
	sys := tree(t, server)
	same(t, sys.CharDevices("mlx5_0"),
		"/dev/infiniband/uverbs0", "/dev/infiniband/issm0", "/dev/infiniband/umad0", "/dev/infiniband/rdma_cm")
	same(t, sys.CharDevices("mlx5_1"), "/dev/infiniband/uverbs1", "/dev/infiniband/rdma_cm")
}

func TestADeviceThatIsNotThereHasNoCharacterDevices(t *testing.T) {
	same(t, tree(t, guest).CharDevices("rxe1"))
}

func TestWithoutAModuleItsCharacterDeviceIsMissing(t *testing.T) {
	for file, wanted := range map[string][]string{
		"class/misc/rdma_cm/dev":               {"/dev/infiniband/uverbs0", "/dev/infiniband/umad0"},
		"class/infiniband_mad/umad0/ibdev":     {"/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm"},
		"class/infiniband_verbs/uverbs0/ibdev": {"/dev/infiniband/umad0", "/dev/infiniband/rdma_cm"},
	} {
		same(t, tree(t, guest, file).CharDevices("rxe0"), wanted...)
	}
}

func TestThePluginAsksTheMachineItself(t *testing.T) {
	same(t, []string{string(machine)}, "/sys")
	same(t, GetRdmaCharDevices("no such device"))
	same(t, GetRdmaDevicesForPcidev("no such function"))
}
