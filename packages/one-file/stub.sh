#!/bin/sh
# I/O Atlas in one file (Apache-2.0; fio inside: GPL-2.0). It unpacks itself once into a folder of this user and runs there.
set -eu
umask 077
parent=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/ioatlas
mkdir -p "$parent" 2>/dev/null && [ -w "$parent" ] || parent=${TMPDIR:-/tmp}/ioatlas-$(id -u)
mkdir -p "$parent" && [ -O "$parent" ] || { echo "ioatlas: $parent is not this user's own: set XDG_CACHE_HOME" >&2; exit 1; }
place=$parent/@KEY@
if [ ! -x "$place/ioatlas" ]; then
    new=$(mktemp -d "$parent/new.XXXXXX")
    trap 'rm -rf "$new"' EXIT HUP INT TERM
    # A busybox comes first in what follows this text: a bare system has no xz.
    unpack="xz -dc"
    if ! command -v xz >/dev/null; then
        tail -n +@LINES@ "$0" | head -c @BUSYBOX@ | gzip -dc > "$new/unlzma"
        chmod 700 "$new/unlzma"
        unpack="$new/unlzma -c"
    fi
    tail -n +@LINES@ "$0" | tail -c +@ARCHIVE@ | $unpack | tar -xf - -C "$new" || { echo "ioatlas: $parent could not hold the 200 MB that this file unpacks to: set XDG_CACHE_HOME" >&2; exit 1; }
    rm -f "$new/unlzma"
    # Whoever comes first puts it there whole; who comes second has the same.
    mv -T "$new" "$place" 2>/dev/null || [ -x "$place/ioatlas" ]
    trap - EXIT
    rm -rf "$new"
fi
exec "$place/ioatlas" "$@"
