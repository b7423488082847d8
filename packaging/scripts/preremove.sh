#!/bin/sh
# Before a removal, but not before an upgrade, the service ends. dpkg calls this with "remove", RPM with 0.
set -e
case "$1" in
remove | 0) [ ! -d /run/systemd/system ] || systemctl disable --now interlude.service ;;
esac
