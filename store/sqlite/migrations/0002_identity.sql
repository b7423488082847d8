-- What tells this store from every other one: one row, made here and never changed.
CREATE TABLE store (
	identity TEXT NOT NULL
);
INSERT INTO store (identity) VALUES (lower(hex(randomblob(16))));
