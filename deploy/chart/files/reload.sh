#!/bin/sh
# usage: reload.sh SECONDS FILE_OR_FOLDER...
# The gate reads plan, decisions and members on SIGHUP; the kubelet replaces their files when a ConfigMap has changed.
# This looks every SECONDS and signals the gate, which is in another container of the same pod and shares its process ids.
set -eu
every_seconds=$1
shift

# Of a folder every file counts: beside the plan lie the templates that it names.
digest() {
  for path in "$@"; do
    if [ -d "$path" ]; then cat "$path"/*; else cat "$path"; fi || :
  done 2>/dev/null | sha256sum
}

gates() {
  for process in "${PROC:-/proc}"/[0-9]*; do
    case $(tr '\0' ' ' 2>/dev/null <"$process/cmdline") in
      *"/rdma-gate serve "*) echo "${process##*/}" ;;
    esac
  done
}

known=$(digest "$@")
while sleep "$every_seconds"; do
  now=$(digest "$@")
  [ "$now" != "$known" ] || continue
  for gate in $(gates); do
    echo "a file has changed: telling process $gate"
    kill -HUP "$gate" || continue
    known=$now
  done
done
