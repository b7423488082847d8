#!/bin/sh
# Before a removal, but not before an upgrade: stops the service. dpkg passes "remove", RPM passes 0.
set -e
case "$1" in
remove | 0) [ ! -d /run/systemd/system ] || systemctl disable --now interlude.service ;;
esac
