#!/bin/sh
# After an installation or upgrade: has systemd reload the unit, and restarts a running service with the new program.
# Runs continue; turns end within the unit's grace period.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart interlude.service ||
		echo "interlude: the service does not start with the new program: see journalctl -u interlude"
fi
