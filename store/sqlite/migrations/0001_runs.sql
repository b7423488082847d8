-- One row a run. The record is the truth; the columns beside it are those that some WHERE needs, written with it.
CREATE TABLE runs (
	n             INTEGER PRIMARY KEY,
	id            TEXT    NOT NULL UNIQUE,
	version       INTEGER NOT NULL,
	state         TEXT    NOT NULL,
	pool          TEXT    NOT NULL,
	key           TEXT    NOT NULL,
	priority      INTEGER NOT NULL,
	created_at    INTEGER NOT NULL,           -- times are microseconds
	queued_at     INTEGER,
	ready         INTEGER,                    -- 1: in the queue for a slot
	delayed_until INTEGER,                    -- held back from the queue until then
	slot          INTEGER,                    -- 1: holds a slot
	owner         TEXT,
	epoch         INTEGER NOT NULL,
	asked_at      INTEGER,
	deadline      INTEGER,
	finished_at   INTEGER,
	record        BLOB    NOT NULL,
	first         INTEGER NOT NULL,           -- number of the first event in tail
	tail          BLOB    NOT NULL,           -- the newest events, a line each
	spec          BLOB                        -- NULL when it stands in specs
);
CREATE INDEX runs_created  ON runs (created_at, id);
-- Partial indexes hold only what their query looks for: a parked or finished run is in none of the claim's.
CREATE INDEX runs_ready    ON runs (pool, priority DESC, key, queued_at, id) WHERE ready = 1;
CREATE INDEX runs_delayed  ON runs (delayed_until) WHERE delayed_until IS NOT NULL;
CREATE INDEX runs_held     ON runs (pool, key, owner) WHERE slot = 1;
CREATE INDEX runs_sticky   ON runs (owner, queued_at, id) WHERE slot = 1 AND state = 'queued';
CREATE INDEX runs_parked   ON runs (owner) WHERE owner IS NOT NULL AND slot IS NULL;
CREATE INDEX runs_waiting  ON runs (asked_at, id) WHERE asked_at IS NOT NULL;
CREATE INDEX runs_deadline ON runs (deadline, id) WHERE deadline IS NOT NULL;
CREATE INDEX runs_finished ON runs (finished_at, id) WHERE finished_at IS NOT NULL;

-- A specification that is too large to be carried along each time its run is written.
CREATE TABLE specs (
	run  INTEGER PRIMARY KEY,
	spec BLOB NOT NULL
);

-- The events that the tail of their run has no room for any more: one row for what stood there, found by the run's
-- n << 28 | the number of its last event. A whole number is the cheapest key there is, and keeps a run's rows together.
CREATE TABLE log (
	k      INTEGER PRIMARY KEY,
	first  INTEGER NOT NULL,                  -- number of the first event
	bodies BLOB    NOT NULL                   -- the events, a line each
);

-- One row a settled interaction, with the idempotency key of its reply.
CREATE TABLE settled (
	run    INTEGER NOT NULL,
	id     INTEGER NOT NULL,
	key    TEXT,
	record BLOB    NOT NULL,
	PRIMARY KEY (run, id)
) WITHOUT ROWID;
CREATE UNIQUE INDEX settled_key ON settled (run, key) WHERE key IS NOT NULL;

CREATE TABLE nodes (
	id       TEXT    PRIMARY KEY,
	identity TEXT    NOT NULL,
	lease    INTEGER NOT NULL,                -- nanoseconds
	until    INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE pools (
	name         TEXT    PRIMARY KEY,
	capacity     INTEGER NOT NULL,
	key_capacity INTEGER NOT NULL
) WITHOUT ROWID;
