# shellcheck shell=bash
# Runs inside a guest as: bash -s -- FAULT [ARGUMENT...]. One function per fault; restore undoes them all.
set -eu
ADDRESS=$(cat /run/lab/address)
IB=/sys/class/infiniband/rxe0/ports/1
HIDDEN=.lab-hidden
FILTERED=/run/lab/filtered

link_down() { ip link set eth1 down; }
link_up() { ip link set eth1 up; }

delete_rxe() {
    [ -e /sys/class/infiniband/rxe0 ] || return 0
    # The kernel waits, unkillable, while a queue pair is open.
    kill_tools
    rdma link delete rxe0
    # Nodes made by restore are not the kernel's own, so it leaves them behind.
    rm -f /dev/infiniband/uverbs* /dev/infiniband/umad* /dev/infiniband/issm*
}
add_rxe() {
    [ -e /sys/class/infiniband/rxe0 ] || rdma link add rxe0 type rxe netdev eth1
}

remove_address() { ip address delete "$ADDRESS/24" dev eth1; }

drop_4791() {
    case $1 in
        in) filter input 'udp dport 4791 counter drop' ;;
        out) filter output 'udp dport 4791 counter drop' ;;
        both) drop_4791 in; drop_4791 out ;;
    esac
}
drop_large() { filter input "udp dport 4791 udp length > $1 counter drop"; }
# Both ways, so that a client here is refused at once as well; the resets themselves must get out.
block_control() {
    filter input "iifname eth1 meta l4proto tcp counter $1"
    filter output "oifname eth1 tcp flags & rst == 0 counter $1"
}
filter() {
    touch $FILTERED
    nft add table inet lab
    nft add chain inet lab "$1" "{ type filter hook $1 priority -10; }"
    nft add rule inet lab "$1" "$2"
}

mtu() { ip link set eth1 mtu "$1"; }
loss() { tc qdisc replace dev eth1 root netem loss "$1%"; }
corrupt() { tc qdisc replace dev eth1 root netem corrupt "$1%"; }
delay() { tc qdisc replace dev eth1 root netem delay "$1ms"; }

remove_uverbs() { rm -f /dev/infiniband/uverbs0; }
chmod_uverbs() { chmod "$1" /dev/infiniband/uverbs0; }
remove_rdma_cm() { rm -f /dev/infiniband/rdma_cm; }

hide_tool() {
    paths=$(tool_paths "$1")
    for path in $paths; do
        [ -e "$path$HIDDEN" ] || mv "$path" "$path$HIDDEN"
        rm -f "$path"
    done
}
tool_paths() {
    if [ "$1" = perftest ]; then
        find /usr/bin -name 'ib_*_bw*' -o -name 'ib_*_lat*' -o -name 'raw_ethernet_*' |
            sed "s/$HIDDEN\$//" | sort -u
        return
    fi
    for directory in /usr/bin /usr/sbin; do
        [ -e "$directory/$1" ] || [ -e "$directory/$1$HIDDEN" ] || continue
        echo "$directory/$1"
        return
    done
    echo "no tool $1 in this guest" >&2
    exit 1
}

# The last two run the real tool, so that the other end sees a real peer, and edit what it prints.
fake_tool() {
    path=$(tool_paths "$1")
    hide_tool "$1"
    {
        echo '#!/bin/bash'
        case $2 in
            hang) echo 'exec sleep infinity' ;;
            flood) echo "yes 'flood flood flood flood flood flood flood' | head -c 1000000000" ;;
            no-row) echo "'$path$HIDDEN' \"\$@\" | sed -uE '/^ *[0-9]+ /d'; exit 0" ;;
            zero-row) echo "'$path$HIDDEN' \"\$@\" | sed -uE '$ZERO_ROW'; exit 0" ;;
        esac
    } > "$path"
    chmod 755 "$path"
}
ZERO_ROW='/^ *[0-9]+ /{s/^( *[0-9]+ +)[0-9]+/\10/; s/[0-9]+\.[0-9]+/0.00/g}'

silence_node() { kill -STOP "$(cat /run/lab/program.pid)"; }
kill_node() { kill -KILL "$(cat /run/lab/program.pid)"; }
kill_tools() {
    pkill -KILL '^(ib_|ibv_|raw_ether|rping|rdma_)' || [ $? = 1 ]
}

# Under TCG a new process costs some 20 ms, so this looks with what the shell has and acts only where it must.
restore() {
    wake_node
    restore_tools
    [ ! -e $FILTERED ] || nft delete table inet lab
    rm -f $FILTERED
    restore_netdev
    add_rxe
    plan_gids
    if ! gids_as_planned; then
        delete_rxe
        add_rxe
        gids_as_planned || { echo "GIDs are $found, wanted $planned" >&2; exit 1; }
    fi
    restore_devices
}
wake_node() {
    [ ! -e /run/lab/program.pid ] || kill -CONT "$(< /run/lab/program.pid)" 2> /dev/null || true
}
restore_tools() {
    for path in /usr/bin/*$HIDDEN /usr/sbin/*$HIDDEN; do
        [ ! -e "$path" ] || mv -f "$path" "${path%"$HIDDEN"}"
    done
}
restore_netdev() {
    link=$(ip -o link show dev eth1)
    [[ $link == *' qdisc fq_codel '* ]] || tc qdisc delete dev eth1 root 2> /dev/null || true
    [[ $link == *' mtu 1500 '* ]] || ip link set eth1 mtu 1500
    [[ $link =~ [\<,]UP[,\>] ]] || ip link set eth1 up
    [[ $(ip -4 -o address show dev eth1) == *" $ADDRESS/24 "* ]] || ip address add "$ADDRESS/24" dev eth1
    # It goes with the link and comes back a moment after it.
    for _ in {1..50}; do
        [[ ! $(ip -6 -o address show dev eth1 scope link) == *inet6* ]] || return 0
        sleep 0.1
    done
}
restore_devices() {
    for name in uverbs0 rdma_cm; do
        [ -e "/dev/infiniband/$name" ] || make_device "$name"
    done
    chmod 666 /dev/infiniband/uverbs0 /dev/infiniband/rdma_cm
}
make_device() {
    numbers=$(cat /sys/class/{infiniband_verbs,misc}/"$1"/dev 2> /dev/null || true)
    mknod "/dev/infiniband/$1" c "${numbers%:*}" "${numbers#*:}"
}
# The kernel fills the table a moment after the address came.
gids_as_planned() {
    for _ in {1..20}; do
        found=$(cat $IB/gids/{0,1,2})
        [ "$found" != "$planned" ] || return 0
        sleep 0.1
    done
    return 1
}
# The link-local one made of the MAC, the one of the planned address, and nothing else.
plan_gids() {
    IFS=: read -ra mac < /sys/class/net/eth1/address
    IFS=. read -ra ip <<< "$ADDRESS"
    printf -v planned 'fe80:0000:0000:0000:%02x%s:%sff:fe%s:%s%s\n%s:ffff:%02x%02x:%02x%02x\n%s' \
        $((0x${mac[0]} ^ 2)) "${mac[@]:1}" "$ZEROS" "${ip[@]}" "$ZEROS:0000:0000:0000"
}
ZEROS=0000:0000:0000:0000:0000

fault=${1//-/_}
shift
"$fault" "$@"
