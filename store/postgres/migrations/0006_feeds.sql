-- Feeds: the events of all runs in one order, with a cursor for each name. A trigger notes what is inserted into events, in the same
-- transaction, whichever release inserts it. It is enabled while there are feeds.
CREATE TABLE interlude.feeds (
	name    text COLLATE "C" PRIMARY KEY,
	place   bigint NOT NULL,                 -- place, run and last are the cursor: those of the last row of feed that is acknowledged
	run     bigint NOT NULL,
	last    bigint NOT NULL,
	epoch   bigint NOT NULL,
	until   bigint NOT NULL,                 -- of the reader's lease, by the server's clock; 0 when nobody reads
	max_lag bigint NOT NULL,                 -- microseconds
	lost    boolean NOT NULL
) WITH (fillfactor = 50);

-- A commit, that is a row of events, which some feed has not acknowledged. Rows are read in the order of the primary key, and only those
-- whose place is below the lowest transaction that is under way. A place is never below the number of the transaction that noted it,
-- so no row appears below what was read. It is never below the number of a transaction that had ended before either, so that what a
-- run commits later has a later place, although its transaction may have begun earlier.
CREATE TABLE interlude.feed (
	place bigint NOT NULL,
	run   bigint NOT NULL,
	last  bigint NOT NULL,
	PRIMARY KEY (place, run, last)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_limit = 2000);
CREATE INDEX feed_run ON interlude.feed (run);

-- It has the owner's rights, so that those who write events need none on feed. All names are qualified: the caller's search_path does not
-- matter.
CREATE FUNCTION interlude.note_events() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	INSERT INTO interlude.feed (place, run, last)
		SELECT greatest(pg_catalog.pg_current_xact_id()::pg_catalog.text::pg_catalog.int8,
			pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::pg_catalog.text::pg_catalog.int8 OPERATOR(pg_catalog.-) 1),
			run, last FROM stored;
	RETURN NULL;
END
$$;
CREATE TRIGGER events_noted AFTER INSERT ON interlude.events REFERENCING NEW TABLE AS stored
	FOR EACH STATEMENT EXECUTE FUNCTION interlude.note_events();
ALTER TABLE interlude.events DISABLE TRIGGER events_noted;

-- Enables the trigger if there are feeds, and disables it if there are none. It changes a table, so it has the owner's rights. Its lock waits
-- until every transaction has ended that has inserted events: what is inserted later is noted, by transactions with old snapshots too.
CREATE FUNCTION interlude.switch_feeds() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
	needed boolean := EXISTS (SELECT FROM interlude.feeds);
	enabled boolean := EXISTS (SELECT FROM pg_catalog.pg_trigger
		WHERE tgrelid OPERATOR(pg_catalog.=) (SELECT e.oid FROM pg_catalog.pg_class e JOIN pg_catalog.pg_class m
				ON m.relnamespace OPERATOR(pg_catalog.=) e.relnamespace
			WHERE e.relname OPERATOR(pg_catalog.=) 'events'
				AND m.oid OPERATOR(pg_catalog.=) (SELECT tableoid FROM interlude.migrations LIMIT 1))
			AND tgname OPERATOR(pg_catalog.=) 'events_noted' AND tgenabled OPERATOR(pg_catalog.<>) 'D');
BEGIN
	IF needed AND NOT enabled THEN
		ALTER TABLE interlude.events ENABLE TRIGGER events_noted;
	ELSIF enabled AND NOT needed THEN
		ALTER TABLE interlude.events DISABLE TRIGGER events_noted;
	END IF;
END
$$;

-- Roles that were given rights before these tables were made go on: who may read settled may read feeds, and who may prune may write them.
DO $$
DECLARE
	home oid := (SELECT relnamespace FROM pg_catalog.pg_class WHERE oid = (SELECT tableoid FROM interlude.migrations LIMIT 1));
	feeds regclass := (SELECT oid FROM pg_catalog.pg_class WHERE relnamespace = home AND relname = 'feeds');
	feed regclass := (SELECT oid FROM pg_catalog.pg_class WHERE relnamespace = home AND relname = 'feed');
	given record;
BEGIN
	FOR given IN
		SELECT DISTINCT a.privilege_type AS rights,
			CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS role
		FROM pg_catalog.pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
		WHERE c.relnamespace = home AND c.relname = 'settled' AND a.privilege_type IN ('SELECT', 'DELETE')
	LOOP
		EXECUTE format('GRANT %s ON %s TO %s', given.rights, feed, given.role);
		EXECUTE format('GRANT %s ON %s TO %s', CASE given.rights WHEN 'SELECT' THEN 'SELECT' ELSE 'INSERT, UPDATE, DELETE' END, feeds, given.role);
	END LOOP;
END
$$;
