# Makes the network of a node in a new network namespace, and holds it. $1: the node's address.
set -eu
ip link set lo up
# Both ends are in this namespace, so that no packet leaves it: a place for the node's address, and for a default route,
# without which addresses of Services would be refused before kube-proxy's rules see them.
ip link add eth0 type veth peer name uplink
ip address add "$1/24" dev eth0
ip link set eth0 up
ip link set uplink up
ip route add default dev eth0
# For pods. This setting is the namespace's own.
echo 1 >/proc/sys/net/ipv4/ip_forward
echo up
exec sleep infinity
