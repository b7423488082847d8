-- Which engine a run wants, and which engines a node has: a claim looks only at runs that its node can execute. Bytes, as keys are.
-- A list that is NULL is that of a node which does not say.
ALTER TABLE interlude.nodes ADD COLUMN engines bytea[];
-- NULL in rows of runs that had ended when the column was made: nothing looks for their engine.
ALTER TABLE interlude.states ADD COLUMN engine bytea;

-- The engine that a record names; none when the record cannot be read, so that one such run does not hold up the others.
CREATE FUNCTION interlude.engine_of(record bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	-- Only this text is read as JSON: others of the record may hold \u0000, which PostgreSQL cannot read. The first member of the name is the run's.
	RETURN coalesce(convert_to(substring(convert_from(record, 'UTF8') from ',"engine":("(?:[^"\\]|\\.)*")')::json #>> '{}', 'UTF8'), ''::bytea);
EXCEPTION WHEN data_exception THEN
	RETURN ''::bytea;
END
$$;

-- Nodes of older versions do not name the column: it is read from the record then.
CREATE FUNCTION interlude.name_engine() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.engine := interlude.engine_of(NEW.record);
	RETURN NEW;
END
$$;
CREATE TRIGGER states_engine BEFORE INSERT ON interlude.states FOR EACH ROW WHEN (NEW.engine IS NULL) EXECUTE FUNCTION interlude.name_engine();

DROP INDEX interlude.states_ready;
UPDATE interlude.states SET engine = interlude.engine_of(record) WHERE finished_at IS NULL;
CREATE INDEX states_ready_engine ON interlude.states (engine, pool, priority DESC, key, queued_at, id) WHERE ready;
