# A new mount namespace holds the file systems of other targets too: their loop devices would stay as long as it does.
while read -r device place rest; do
    case $device in /dev/loop*) [ $place = {dir}/export ] || umount -l $place;; esac
done < /proc/self/mounts
