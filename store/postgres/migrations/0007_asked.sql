-- Whom the open questions of a run name: one row a person or group and run, so that an inbox finds its questions. Questions for everybody
-- have none. Nodes of older versions refuse runs that have rows here; what they parked before this migration is found without.
CREATE TABLE interlude.asked (
	principal bytea  NOT NULL,
	since     bigint NOT NULL,               -- when the questions were asked
	run_id    text COLLATE "C" NOT NULL,
	run       bigint NOT NULL,
	PRIMARY KEY (principal, since, run_id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_limit = 2000);
CREATE INDEX asked_run ON interlude.asked (run);

-- Roles that were given rights before this table was made go on: who may read settled may read it, and who may settle a question may write it.
DO $$
DECLARE
	home oid := (SELECT relnamespace FROM pg_catalog.pg_class WHERE oid = (SELECT tableoid FROM interlude.migrations LIMIT 1));
	made regclass := (SELECT oid FROM pg_catalog.pg_class WHERE relnamespace = home AND relname = 'asked');
	given record;
BEGIN
	FOR given IN
		SELECT DISTINCT CASE a.privilege_type WHEN 'SELECT' THEN 'SELECT' ELSE 'INSERT, DELETE' END AS rights,
			CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS role
		FROM pg_catalog.pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
		WHERE c.relnamespace = home AND c.relname = 'settled' AND a.privilege_type IN ('SELECT', 'INSERT')
	LOOP
		EXECUTE format('GRANT %s ON %s TO %s', given.rights, made, given.role);
	END LOOP;
END
$$;
