-- What turns keep so that later turns need not do it again: one row an entry, written once. Nodes of older versions refuse runs that have
-- rows here, but leave the rows of runs that they prune, which nothing names any more.
CREATE TABLE interlude.journal (
	run   bigint NOT NULL,
	entry bigint NOT NULL,                   -- from 1, in the order of writing
	path  text COLLATE "C" NOT NULL,         -- where in the engine's code
	name  text COLLATE "C" NOT NULL,
	type  text COLLATE "C" NOT NULL,
	body  bytea NOT NULL,
	PRIMARY KEY (run, entry)
);

-- Roles that were given rights before this table was made go on: each has the rights here that it has on settled.
DO $$
DECLARE
	home oid := (SELECT relnamespace FROM pg_catalog.pg_class WHERE oid = (SELECT tableoid FROM interlude.migrations LIMIT 1));
	made regclass := (SELECT oid FROM pg_catalog.pg_class WHERE relnamespace = home AND relname = 'journal');
	given record;
BEGIN
	FOR given IN
		SELECT DISTINCT a.privilege_type AS rights,
			CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS role
		FROM pg_catalog.pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
		WHERE c.relnamespace = home AND c.relname = 'settled' AND a.privilege_type IN ('SELECT', 'INSERT', 'DELETE')
	LOOP
		EXECUTE format('GRANT %s ON %s TO %s', given.rights, made, given.role);
	END LOOP;
END
$$;
