-- The open stores that watch for what others change: only while another one does are rows written to changes.
CREATE TABLE watchers (
	writer   TEXT PRIMARY KEY,                -- as in changes
	identity TEXT NOT NULL                    -- of its process, so that what a dead one left is found
) WITHOUT ROWID;
