-- What turns have used: one row a turn whose engine reported something. Nodes of older versions write none, and leave the rows of runs that
-- they prune, which nothing names any more.
CREATE TABLE interlude.usage (
	run     bigint NOT NULL,
	attempt bigint NOT NULL,
	input   bigint NOT NULL,                 -- tokens
	output  bigint NOT NULL,
	cost    bigint NOT NULL,                 -- millionths of a US dollar
	worked  bigint NOT NULL,                 -- microseconds
	PRIMARY KEY (run, attempt)
);

-- Roles that were given rights before this table was made go on: each has the rights here that it has on settled.
DO $$
DECLARE
	home oid := (SELECT relnamespace FROM pg_catalog.pg_class WHERE oid = (SELECT tableoid FROM interlude.migrations LIMIT 1));
	made regclass := (SELECT oid FROM pg_catalog.pg_class WHERE relnamespace = home AND relname = 'usage');
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
