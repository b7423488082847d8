-- The open stores that watch for what others change: only while another one does are rows written to changes.
CREATE TABLE watchers (
	writer TEXT    PRIMARY KEY,               -- as in changes
	until  INTEGER NOT NULL                   -- microseconds; renewed long before, unless its process is dead
) WITHOUT ROWID;
