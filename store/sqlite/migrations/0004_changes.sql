-- What the last transactions changed, for the other processes that watch: a row a transaction, the last some thousand.
CREATE TABLE changes (
	n      INTEGER PRIMARY KEY,
	writer TEXT NOT NULL,                     -- the open store that made it
	hints  BLOB NOT NULL                      -- for each run its id, its state and the number of its last event
);
