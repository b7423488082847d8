-- The votes on settled questions by their idempotency keys, empty for none, so that a vote's key is found without reading the run's
-- history. Nodes of older versions write no rows; where a run has fewer than its record counts votes, the history is read.
CREATE TABLE interlude.voted (
	run  bigint NOT NULL,
	key  bytea  NOT NULL,
	id   bigint NOT NULL,                    -- number of the question
	part bigint NOT NULL,                    -- of the statement that wrote the row
	PRIMARY KEY (run, key, id, part)
);

-- Roles that were given rights before this table was made keep working: each gets the rights that it has on settled.
DO $$
DECLARE
	home oid := (SELECT relnamespace FROM pg_catalog.pg_class WHERE oid = (SELECT tableoid FROM interlude.migrations LIMIT 1));
	made regclass := (SELECT oid FROM pg_catalog.pg_class WHERE relnamespace = home AND relname = 'voted');
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
