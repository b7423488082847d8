#!/bin/sh
# After a removal. A purge also keeps the runs, because this may be their only copy.
set -e
[ ! -d /run/systemd/system ] || systemctl daemon-reload
if [ "$1" = purge ] && [ -e /var/lib/interlude ]; then
	echo "interlude: the runs are kept in /var/lib/interlude (with systemd /var/lib/private/interlude)"
fi
