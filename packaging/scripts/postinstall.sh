#!/bin/sh
# After an installation or upgrade: systemd reads the unit again, and a running service gets the new program. Runs
# continue; turns end within the grace period of the unit.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart interlude.service ||
		echo "interlude: the service does not start with the new program: see journalctl -u interlude"
fi
