-- The labels of runs by a hash of name and value, so that a listing by a label finds its runs. A row stands here as long as its run.
CREATE TABLE labels (
	label INTEGER NOT NULL,
	run   INTEGER NOT NULL,
	PRIMARY KEY (label, run)
) WITHOUT ROWID;
