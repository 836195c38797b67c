#!/bin/sh
# I/O Atlas in one file (Apache-2.0; fio inside: GPL-2.0). It unpacks itself once into a folder of this user and runs there.
set -eu
umask 077
parent=${XDG_CACHE_HOME:-${HOME:-/nonexistent}/.cache}/ioatlas
mkdir -p "$parent" 2>/dev/null && [ -w "$parent" ] || parent=${TMPDIR:-/tmp}/ioatlas-$(id -u)
mkdir -p "$parent" && [ -O "$parent" ] || { echo "ioatlas: $parent is not this user's own: set XDG_CACHE_HOME" >&2; exit 1; }
place=$parent/@KEY@
# The system's C library, where it is new enough: libraries of the system are opened with it. Elsewhere the one inside.
libc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || libc=
case $libc in "glibc 2."[3-9][0-9]*) minor=${libc#glibc 2.}; minor=${minor%%[!0-9]*} ;; *) minor=0 ;; esac
[ "$minor" -ge @MINOR@ ] || place=$place-own
if [ ! -x "$place/ioatlas" ]; then
    new=$(mktemp -d "$parent/new.XXXXXX")
    trap 'rm -rf "$new"' EXIT HUP INT TERM
    # A busybox comes first in what follows this text: not every system has an xz, or one that takes this form.
    tail -n +@LINES@ "$0" | head -c @BUSYBOX@ | gzip -dc > "$new/unlzma"
    chmod 700 "$new/unlzma"
    tail -n +@LINES@ "$0" | tail -c +@ARCHIVE@ | "$new/unlzma" -c | tar -xf - -C "$new" || { echo "ioatlas: $parent could not hold the 200 MB that this file unpacks to: set XDG_CACHE_HOME" >&2; exit 1; }
    rm -f "$new/unlzma"
    if [ "$minor" -ge @MINOR@ ]; then
        rm -rf "$new/own"
    else
        loader=$place/own/loader
        [ "${#loader}" -lt 240 ] || { echo "ioatlas: the path $loader is too long: set XDG_CACHE_HOME" >&2; exit 1; }
        printf '%s\000' "$loader" | dd of="$new/ioatlas" bs=1 seek=@OFFSET@ conv=notrunc 2>/dev/null
    fi
    # Whoever comes first puts it there whole; who comes second has the same.
    mv -T "$new" "$place" 2>/dev/null || [ -x "$place/ioatlas" ]
    trap - EXIT
    rm -rf "$new"
fi
exec "$place/ioatlas" "$@"
