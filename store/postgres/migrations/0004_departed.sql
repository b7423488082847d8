-- What is left of a node that has gone while parked runs name it. Nodes of older versions leave no row when they go; the next
-- Expire of a newer one makes it.
CREATE TABLE interlude.departed (
	id text COLLATE "C" PRIMARY KEY,
	at bigint NOT NULL
);

-- Roles that were given rights before this table was made go on: who may read states may read it, and who may remove nodes may write it.
DO $$
DECLARE
	home oid := (SELECT relnamespace FROM pg_catalog.pg_class WHERE oid = (SELECT tableoid FROM interlude.migrations LIMIT 1));
	made regclass := (SELECT oid FROM pg_catalog.pg_class WHERE relnamespace = home AND relname = 'departed');
	given record;
BEGIN
	FOR given IN
		SELECT DISTINCT CASE a.privilege_type WHEN 'SELECT' THEN 'SELECT' ELSE 'INSERT, DELETE' END AS rights,
			CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS role
		FROM pg_catalog.pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) a
		WHERE c.relnamespace = home AND (c.relname = 'states' AND a.privilege_type = 'SELECT' OR c.relname = 'nodes' AND a.privilege_type = 'DELETE')
	LOOP
		EXECUTE format('GRANT %s ON %s TO %s', given.rights, made, given.role);
	END LOOP;
END
$$;
