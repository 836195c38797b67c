set -e
{let_go}
mount -t tmpfs lab /run
mkdir -p /run/gluster
mount -t tmpfs lab /var/lib/glusterd
mount -t tmpfs lab /var/log/glusterfs
mount --bind {dir}/hosts /etc/hosts
mkdir /run/own
mount --bind {dir} /run/own
mount -t tmpfs lab /tmp
mkdir -p {dir}
mount --bind /run/own {dir}
for place in /usr/lib/*/glusterfs/gsyncd /usr/libexec/glusterfs/gsyncd; do
    if [ -e "$place" ]; then mount --bind {dir}/gsyncd "$place"; fi
done
exec glusterd -N -p /run/glusterd.pid -l {dir}/glusterd$1.txt
