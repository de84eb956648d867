#!/bin/sh
# usage: prepare.sh SETTINGS MASTER_KEY DIRECTORY
# Writes into DIRECTORY what one node serves with: the settings with the node's name, and the key that follows from the
# master for this node alone. The container that listens sees neither the master nor another node's key.
set -eu
umask 077
{
  cat "$1"
  printf 'node: "%s"\n' "$NODE_NAME"
} >"$3/rdma-gate.yaml"
rdma-gate key "$2" "$NODE_NAME" >"$3/node.key"
