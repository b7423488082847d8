// Package pglocal starts a private PostgreSQL server from the installed programs, for tests,
// examples and measurements. It can be restarted, killed and recovered.
//
//	server, err := pglocal.Start(ctx, pglocal.Options{})
//	defer server.Stop()
//	pool, err := pgxpool.New(ctx, server.DSN(""))
//
// It listens on 127.0.0.1 only, on a free port, with a random password (SCRAM), without Unix
// sockets; encoding UTF8, locale C, time zone UTC. Other settings are PostgreSQL's defaults, so
// that measurements include durability.
//
// # Processes and files
//
// Root may not run PostgreSQL: for root, it runs as the user "postgres" if that exists, else as
// "nobody". The server ends with the process that started it, even if that is killed: a watching
// shell shuts the server down and removes its temporary folder. A process that is killed between
// Halt or Kill and Resume leaves the folder behind ("interlude-pg-*" in the folder for temporary
// files), but no process. If only root may write to TMPDIR, an empty folder remains.
//
// It needs a Unix; elsewhere Start fails with errors.ErrUnsupported. It is not for production: it
// has no backups and no upgrades. Package pgtest gives each test an empty database on a private
// server.
package pglocal
