-- What tells this store from every other one: one row, made here and never changed.
CREATE TABLE interlude.store (
	identity text PRIMARY KEY
);
INSERT INTO interlude.store (identity) VALUES (gen_random_uuid()::text);
