{let_go}
# rpcbind has its socket and its lock in /run, whoever starts it.
mount -t tmpfs lab /run && { rpcbind -f -h {server} & } &&
    exec ganesha.nfsd -F -f {dir}/ganesha.conf -L {dir}/ganesha.log -p {dir}/ganesha.number
