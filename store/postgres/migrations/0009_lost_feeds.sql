-- Commits are noted only while a feed needs them: one that is not lost. Nodes of older versions call this function when they create or
-- delete a feed, and their commits are noted by the trigger, as before.
CREATE OR REPLACE FUNCTION interlude.switch_feeds() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
	needed boolean := EXISTS (SELECT FROM interlude.feeds WHERE NOT lost);
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
