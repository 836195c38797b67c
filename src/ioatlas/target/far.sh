# SPDX-License-Identifier: Apache-2.0
# Runs on a client: everything that can be seen there about the target at $1, for far.py to judge. Reads only.
# $2: a marker's file, or empty. $3: the target as it is held there, else $1 again. Every line is WORD, a tab, fields
# with tabs between them.
path=$1 marker=$2 held=$3
tab=$(printf '\t')
say() { first=$1; shift; line=$first; for field in "$@"; do line="$line$tab$field"; done; printf '%s\n' "$line"; }
content() { value=''; [ -r "$1" ] && { read -r value < "$1"; } 2>/dev/null; }

say user "$(id -u)"
[ -L "$path" ] && say link
if [ -d "$held" ]; then kind='directory'; elif [ -b "$held" ]; then kind='block'; elif [ -f "$held" ]; then kind='file'
elif [ -e "$held" ]; then kind='other'; else kind='missing'; fi
say kind "$kind"
[ "$kind" = missing ] && exit 0
[ -w "$held" ] && say writable
while read -r line; do say mount "$line"; done < /proc/self/mountinfo

if [ "$kind" = directory ] || [ "$kind" = file ]; then
  say device "$(stat -L -c %d "$held")" "$(readlink -f "$held")"
  say free "$(df -Pk "$held" | awk 'END { print $(NF - 2) }')"
  [ -n "$marker" ] && [ -r "$marker" ] && say marker "$(tr -d '\n\t' < "$marker")"
  [ "$kind" = file ] && say names "$(stat -L -c %h "$held")"
  [ "$kind" = file ] && say size "$(stat -L -c %s "$held")" "$(dd if="$held" bs=4096 count=1 2>/dev/null | cksum)"
fi
if [ "$kind" != directory ]; then
  # l-wx and lrwx: open for writing. The name alone is compared: asking for a status could block on a dead file system.
  ls -l /proc/[0-9]*/fd 2>/dev/null | awk -v tab="$tab" '
    /^\/proc\// { split($1, part, "/"); pid = part[3] }
    /^l.w.* -> \// { at = index($0, " -> "); print "writer" tab pid tab substr($0, at + 4) }' | sort -u
  while read -r area rest; do say swap "$area"; done < /proc/swaps
fi
[ "$kind" = block ] || exit 0

say node "$(stat -L -c '%t %T' "$path")"
for place in /sys/class/block/*; do
  name=${place##*/}
  content "$place/dev"; number=$value
  content "$place/size"; size=$value
  content "$place/ro"; ro=$value
  disk=''; if [ -e "$place/partition" ]; then disk=$(readlink -f "$place"); disk=${disk%/*}; disk=${disk##*/}; fi
  content "$place/wwid"; wwn=$value
  [ -n "$wwn" ] || { content "$place/device/wwid"; wwn=$value; }
  content "$place/serial"; serial=$value
  [ -n "$serial" ] || { content "$place/device/serial"; serial=$value; }
  content "$place/loop/backing_file"; backing=$value
  holders=''; for one in "$place"/holders/*; do [ -e "$one" ] && holders="$holders ${one##*/}"; done
  slaves=''; for one in "$place"/slaves/*; do [ -e "$one" ] && slaves="$slaves ${one##*/}"; done
  say block "$name" "$number" "$size" "$ro" "$disk" "$holders" "$slaves" "$wwn" "$serial" "$backing"
done
for one in /sys/fs/btrfs/*/devices/*; do [ -e "$one" ] && say btrfs "${one##*/}"; done
cat /proc/[0-9]*/mountinfo 2>/dev/null | awk -v tab="$tab" '!seen[$0]++ { print "mounted" tab $0 }'
