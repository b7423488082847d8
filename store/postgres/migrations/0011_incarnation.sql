-- incarnation marks the events that were stored since the last restore: 0 before the first, then its time in microseconds. A commit is
-- stored only with the current one, and only on the timeline of the server that is named here: a failover or a restore to a point in
-- time starts another. It is empty until it is known. Nodes of older versions write events without an incarnation.
ALTER TABLE interlude.store ADD COLUMN incarnation bigint NOT NULL DEFAULT 0;
ALTER TABLE interlude.store ADD COLUMN timeline text NOT NULL DEFAULT '';

-- Raises the incarnation if the server is on another timeline, once for any number of callers. It has the owner's rights, so that
-- those who write events need none on this table.
CREATE FUNCTION interlude.observe_timeline() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
	current text := substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8);
BEGIN
	UPDATE interlude.store SET timeline = current, incarnation = CASE timeline WHEN '' THEN incarnation
		ELSE greatest(incarnation + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) END
	WHERE timeline <> current;
END
$$;

-- Roles that write events read the incarnation.
DO $$
DECLARE
	home oid := (SELECT relnamespace FROM pg_catalog.pg_class WHERE oid = (SELECT tableoid FROM interlude.migrations LIMIT 1));
	changed regclass := (SELECT oid FROM pg_catalog.pg_class WHERE relnamespace = home AND relname = 'store');
	given record;
BEGIN
	FOR given IN
		SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS role
		FROM pg_catalog.pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
		WHERE c.relnamespace = home AND c.relname = 'events' AND a.privilege_type = 'INSERT'
	LOOP
		EXECUTE format('GRANT SELECT ON %s TO %s', changed, given.role);
	END LOOP;
END
$$;
