// Package pglocal starts a private PostgreSQL server from the programs that are installed, for
// tests, examples and measurements: a server of one's own that can be restarted, killed and brought
// back without anybody else noticing.
//
//	server, err := pglocal.Start(ctx, pglocal.Options{})
//	defer server.Stop()
//	pool, err := pgxpool.New(ctx, server.DSN(""))
//
// It listens on 127.0.0.1 only, on a port that was free, with a random password (SCRAM), without
// Unix sockets; encoding UTF8, locale C, time zone UTC. All else is as PostgreSQL ships it: fsync
// and synchronous_commit are on, so that what is measured is durable. Options.Settings change it.
//
// # Whose processes, whose files
//
// Root may not run PostgreSQL: for root, it runs as the user "postgres" if there is one, else as
// "nobody". Whoever starts it, it ends with the process that did, even when that is killed: a
// watching shell sees the end of a pipe, shuts the server down and removes its temporary folder.
// The watch lasts while a program of the server runs; a process that is killed between Halt or Kill
// and Resume leaves the folder behind (in the folder for temporary files, "interlude-pg-*"), and no
// process. So does, but for an empty folder, one whose TMPDIR only root may write to.
//
// It needs a Unix; elsewhere Start fails with errors.ErrUnsupported. It is not for production:
// nothing here is backed up or upgraded. Package pgtest gives each test an empty database on such a
// server.
package pglocal
