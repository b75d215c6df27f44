# The first process of a node's namespaces: makes them look like a machine of its own, and reaps. When it is killed, all
# in its process namespace are. $1: the machine's folder, $2: its name.
set -eu
folder=$1
hostname "$2"
# What a machine has in memory only: sockets, network namespaces of pods.
mount -t tmpfs -o mode=755 tmpfs /run
# What it has on disk: containers, pods, images, addresses.
mount --bind "$folder/lib" /var/lib
mount --bind "$folder/log" /var/log
# Not used beside the hierarchies of version 1.
if [ -d /sys/fs/cgroup/unified ]; then umount /sys/fs/cgroup/unified; fi
# The kubelet enforces values of these settings, which belong to the whole machine and not to a namespace. It finds them here.
while read -r setting value; do
    file="$folder/sysctl.$(echo "$setting" | tr / .)"
    echo "$value" >"$file"
    mount --bind "$file" "/proc/sys/$setting"
done <<END
kernel/keys/root_maxbytes 25000000
kernel/keys/root_maxkeys 1000000
kernel/panic 10
kernel/panic_on_oops 1
vm/overcommit_memory 1
vm/panic_on_oom 0
END
echo up
# Not `exec`: a shell also waits for the processes that lost their parents.
while :; do sleep 1000; done
