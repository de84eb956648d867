# shellcheck shell=bash
# Runs once in a new machine of the cluster, as: bash -s -- OTHER_POD_NETWORK OTHER_ADDRESS. Everything that containerd and
# the kubelet write lies on the machine's own disk: the root is an overlay, and an overlay on an overlay is refused.
set -eu
mkdir -p /srv /var/lib/containerd /var/lib/kubelet /var/log/pods
mount -t ext4 /dev/vdb /srv
for directory in containerd kubelet; do mount --bind "/srv/$directory" "/var/lib/$directory"; done
mount --bind /srv/pods /var/log/pods
mount --make-rshared /
for module in bridge br_netfilter nft_chain_nat nft_masq nft_nat; do modprobe "$module"; done
sysctl -qw net.ipv4.ip_forward=1
tr -d - < /proc/sys/kernel/random/uuid > /etc/machine-id
: > /etc/resolv.conf
ip route add "$1" via "$2"
nft -f /etc/lab/network.nft
