# SPDX-License-Identifier: Apache-2.0
# Runs on a client, read by its POSIX shell from the end of a connection. It holds the client's private directory and its
# fio server, and ends both when the connection ends, or when nothing was heard for $lease seconds (a link that is down
# tells nobody). POSIX and /proc only. $token marks every process that it starts; $mark begins every line that is for us.
ioatlas_keeper() {
umask 077
say() { echo "$mark $*"; }
short_sleep() { sleep 0.1 2>/dev/null || sleep 1; }

place=
for parent in /tmp /var/tmp /dev/shm; do
  if mkdir -m 700 "$parent/ioatlas-fleet-$token" 2>/dev/null; then
    place=$parent/ioatlas-fleet-$token
    # A full file system makes directories, but holds no file.
    if echo "$token" > "$place/owner" 2>/dev/null && [ -s "$place/owner" ]; then break; fi
    rm -rf "$place"; place=
  fi
done
if [ -z "$place" ]; then say failed no room for a private directory in /tmp, /var/tmp or /dev/shm; return 1; fi
if [ ! -r /proc/self/environ ]; then rm -rf "$place"; say failed no /proc here, so loads cannot be found again; return 1; fi

# Everything that carries the token, by pid. Jobs of fio leave its process group, so the group does not tell.
pids_with() {
  for found in $(grep -ls "$1" /proc/[0-9]*/environ 2>/dev/null); do
    found=${found#/proc/}; echo "${found%/environ}"
  done
}
# Ends them, politely, then not. Says how many are left.
end_all() {
  turn=0
  while left=$(pids_with "IOATLAS_FLEET=$token") && [ -n "$left" ] && [ "$turn" -lt 50 ]; do
    if [ "$turn" -eq 0 ]; then kill -TERM $left 2>/dev/null; elif [ "$turn" -ge 10 ]; then kill -KILL $left 2>/dev/null; fi
    turn=$((turn + 1)); short_sleep
  done
  set -- $left; echo $#
}
finish() {
  trap '' HUP INT TERM PIPE USR1
  [ -z "$watch" ] || kill -TERM "$watch" 2>/dev/null
  count=$(end_all)
  kill -KILL $(pids_with "IOATLAS_LEASE=$token") 2>/dev/null
  cd /; rm -rf "$place"
}
alive() {
  [ -n "$server" ] && state= && { read -r _ _ state _ < "/proc/$server/stat"; } 2>/dev/null && [ "$state" != Z ]
}

cd "$place" || return 1
server='' watch=''
# USR1 too, or one that comes before the lease takes it would end the lease.
trap '' HUP PIPE USR1
# The lease: reset by a signal, so that no disk is needed for it.
(
  trap 'quiet=0' USR1
  trap 'exit 0' TERM
  quiet=0
  while [ "$quiet" -lt "$lease" ]; do quiet=$((quiet + 2)); IOATLAS_LEASE=$token sleep 2; done
  finish
  kill -KILL $$
) </dev/null >/dev/null 2>&1 &
watch=$!
say ready "$$" "$place"

while read -r word number rest; do
  kill -USR1 "$watch" 2>/dev/null
  case $word in
    beat) if alive; then say "$number" up; else say "$number" down; fi ;;
    clock) say "$number" "$(date +%s.%N)" ;;
    edge) # a clock that tells whole seconds only is read where one begins
      second=$(date +%s); while [ "$(date +%s)" = "$second" ]; do :; done; say "$number" $((second + 1)) ;;
    serve) # $rest: where to listen, a blank, the program
      if ! alive; then
        rm -f "$place/fio.sock"
        IOATLAS_FLEET=$token "${rest#* }" --server="${rest%% *}" </dev/null >"$place/fio.log" 2>&1 &
        server=$!
        turn=0
        while alive && [ "$turn" -lt 100 ]; do
          case $rest in sock:*) [ -S "$place/fio.sock" ] && break ;; *) [ "$turn" -ge 3 ] && break ;; esac
          turn=$((turn + 1)); short_sleep
        done
      fi
      if alive; then
        state=$(cat "/proc/$server/stat"); set -- ${state##*) }; shift 19
        say "$number" up "$server" "$1"
      else
        say "$number" down "$(tail -n 1 "$place/fio.log" 2>/dev/null)"
      fi ;;
    hold) # $rest: a path. A process of its own keeps it open: opening may block, and lasts until the end.
      (exec 7<"$rest" && export IOATLAS_LEASE=$token && exec sleep 1000000) </dev/null >/dev/null 2>&1 &
      holder=$! held=/proc/$!/fd/7 turn=0
      until [ -e "$held" ] || [ "$turn" -ge 50 ] || ! kill -0 "$holder" 2>/dev/null; do
        turn=$((turn + 1)); short_sleep
      done
      if [ -d "$held" ]; then say "$number" "$held/."; elif [ -e "$held" ]; then say "$number" "$held"
      else kill -KILL "$holder" 2>/dev/null; say "$number" no; fi ;;
    stop) count=$(end_all); [ -z "$server" ] || wait "$server"; server=; say "$number" "$count" ;;
    quit) break ;;
  esac
done
finish
say finished "$count"
}
ioatlas_keeper
exit
