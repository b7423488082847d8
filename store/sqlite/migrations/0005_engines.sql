-- Claims look for the runs of the engines that their node has. Of the runs that an earlier version left in the file, those that have
-- not ended get their engine from the record; those that have ended keep ''.
ALTER TABLE runs ADD COLUMN engine TEXT NOT NULL DEFAULT '';
DROP INDEX runs_ready;
DROP INDEX runs_delayed;
CREATE INDEX runs_ready   ON runs (pool, engine, priority DESC, key, queued_at, id) WHERE ready = 1;
CREATE INDEX runs_delayed ON runs (delayed_until, engine) WHERE delayed_until IS NOT NULL;
-- A JSON array of engine names; NULL: the node says nothing of its engines.
ALTER TABLE nodes ADD COLUMN engines TEXT;
