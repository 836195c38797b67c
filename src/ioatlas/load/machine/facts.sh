# SPDX-License-Identifier: Apache-2.0
# What a client of a fleet tells of itself: a name, a tab, and a value in each line.
say() { printf '%s\t%s\n' "$1" "$2"; }
content() { value=''; [ -r "$1" ] && { read -r value < "$1"; } 2>/dev/null; }
say host.kernel "$(uname -r)"; say host.architecture "$(uname -m)"
say host.os "$(. /etc/os-release 2>/dev/null; echo "$PRETTY_NAME")"
say cpu.threads "$(grep -c '^processor' /proc/cpuinfo)"
say cpu.model "$(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)"
grep -q '^flags.*hypervisor' /proc/cpuinfo && say virtual yes
for word in MemTotal:ram.size_bytes MemAvailable:ram.available_bytes SwapTotal:ram.swap_bytes; do
  say "${word#*:}" "$(awk -v key="${word%%:*}:" '$1 == key { print $2 }' /proc/meminfo)"
done
content /sys/devices/system/clocksource/clocksource0/current_clocksource; say clock.source "$value"
content /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor; say cpu.governor "$value"
content /proc/loadavg; say host.load_1min "${value%% *}"
for place in /sys/class/net/*; do
  name=${place##*/}; [ "$name" = lo ] && continue
  content "$place/speed"; speed=$value; content "$place/mtu"; mtu=$value; content "$place/operstate"
  real=''; [ -e "$place/device" ] && real=yes
  say nic "$name $speed $mtu $value $real"
done
for place in /sys/block/*; do
  case ${place##*/} in loop*|ram*|zram*|sr*|fd*) ;; *) say disk "${place##*/}" ;; esac
done
