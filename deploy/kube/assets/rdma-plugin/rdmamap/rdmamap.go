// Package rdmamap tells which RDMA devices stand on a PCI function, soft-RoCE ones too, and their character devices.
//
// It stands in for the package of the same path in the build of the shared device plugin. Since Linux 5.11 an rxe
// device is virtual: nothing of it lies below its PCI function, and only its "parent" file names its interface.
package rdmamap

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Tree is a sysfs mounted at this path; the devices in the answers are those of /dev whatever it is.
type Tree string

const machine Tree = "/sys"

// GetRdmaDevicesForPcidev returns the names of the RDMA devices on this PCI function ("0000:00:03.0"), sorted.
func GetRdmaDevicesForPcidev(pcidev string) []string { return machine.DevicesOfFunction(pcidev) }

// GetRdmaCharDevices returns the paths of the character devices that a user of this RDMA device needs.
func GetRdmaCharDevices(rdmaDeviceName string) []string { return machine.CharDevices(rdmaDeviceName) }

// DevicesOfFunction returns the devices below this PCI function and those on its network interfaces, sorted.
func (sys Tree) DevicesOfFunction(pcidev string) []string {
	function := path.Join("bus/pci/devices", pcidev)
	found := sys.names(function, "infiniband/*")
	for _, netdev := range append(sys.names(function, "net/*"), sys.names(function, "virtio*/net/*")...) {
		found = append(found, sys.DevicesOfInterface(netdev)...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// DevicesOfInterface returns the software RDMA devices on this network interface, sorted.
func (sys Tree) DevicesOfInterface(netdev string) []string {
	var found []string
	for _, device := range sys.names("class/infiniband", "*") {
		if parent, ok := sys.read("class/infiniband", device, "parent"); ok && parent == netdev {
			found = append(found, device)
		}
	}
	return found
}

// CharDevices returns its uverbs, umad and issm devices and, where the kernel has one, the connection manager.
//
// A device that is not there has none, and so not the connection manager either.
func (sys Tree) CharDevices(device string) []string {
	found := append(sys.users("class/infiniband_verbs", device), sys.users("class/infiniband_mad", device)...)
	if len(found) > 0 && sys.has("class/misc/rdma_cm") {
		found = append(found, "rdma_cm")
	}
	for place, name := range found {
		found[place] = path.Join("/dev/infiniband", name)
	}
	return found
}

// users returns the entries of this class that belong to the RDMA device.
func (sys Tree) users(class, device string) []string {
	var found []string
	for _, entry := range sys.names(class, "*") {
		if owner, ok := sys.read(class, entry, "ibdev"); ok && owner == device {
			found = append(found, entry)
		}
	}
	return found
}

// names returns the last elements of what matches, sorted; the folder itself is taken literally.
func (sys Tree) names(folder, pattern string) []string {
	// The patterns are ours, so they are never malformed, and a folder that is not there has no matches.
	matches, _ := filepath.Glob(filepath.Join(string(sys), folder, pattern))
	for place, match := range matches {
		matches[place] = filepath.Base(match)
	}
	return matches
}

func (sys Tree) read(words ...string) (string, bool) {
	text, err := os.ReadFile(filepath.Join(string(sys), filepath.Join(words...)))
	return strings.TrimSpace(string(text)), err == nil
}

func (sys Tree) has(name string) bool {
	_, err := os.Stat(filepath.Join(string(sys), name))
	return err == nil
}
