#!/bin/sh
# Installs what the real node of the tests is made of, on Debian and its derivatives: the container runtime, the network's plugins
# and the tool that builds images. 45 MB, ten seconds. Nothing is started, and nothing else is changed; run it as root.
set -eu

# kmod is for kernels that load overlay and nf_tables on first use.
packages="buildah containerd containernetworking-plugins iproute2 iptables kmod nftables runc"

# The hook that Debian's packages call before they start a service: 101 means no. An existing one is put back.
policy=/usr/sbin/policy-rc.d
before=
if [ -e "$policy" ]; then
    before=$(mktemp)
    cp -p "$policy" "$before"
fi
restore() {
    if [ -n "$before" ]; then mv "$before" "$policy"; else rm -f "$policy"; fi
}
trap restore EXIT
printf '#!/bin/sh\nexit 101\n' >"$policy"
chmod 755 "$policy"

export DEBIAN_FRONTEND=noninteractive
apt-get update --quiet
# Unquoted on purpose: it is a list.
# shellcheck disable=SC2086
apt-get install --quiet --yes --no-install-recommends $packages
