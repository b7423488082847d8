package console

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/sqlite"
)

var migrateVerb = command.Verb{
	Name: "migrate", Does: "create the tables, or upgrade them to this program's schema",
	More: "Only a backup can undo it, so make one first. Hosts may work in the meantime; production.md describes " +
		"upgrades. A database with this program's schema is not changed.",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON := NewDatabase(f), jsonFlag(f)
		refuse := f.Bool("refuse-earlier", false, "make earlier releases refuse the database from now on; use it "+
			"when the last of their processes has been replaced")
		return func(ctx context.Context, c command.Call) (int, error) {
			if _, err := c.Want(""); err != nil {
				return command.Misused, err
			}
			if err := db.resolve(); err != nil {
				return command.Misused, err
			}
			m, err := db.migrate(ctx, *refuse)
			if err != nil {
				return command.Failed, db.explain(err)
			}
			p := newPrinter(c.Out, *asJSON)
			switch {
			case p.json:
				p.object(m)
			case m.From == m.To:
				p.line(terminal.Green, fmt.Sprintf("✓ %s is at schema %d, as this program needs it", db, m.To))
			default:
				p.line(terminal.Green, fmt.Sprintf("✓ %s was upgraded from schema %d to %d", db, m.From, m.To))
			}
			return command.Succeeded, p.err
		}
	},
}

// Migrated is migrate's output with -json; 0 means no schema.
type Migrated struct {
	From int `json:"from"`
	To   int `json:"to"`
}

func (d *Database) migrate(ctx context.Context, refuse bool) (Migrated, error) {
	m, err := d.inspect(ctx)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, sqlite.ErrOlder) &&
		!errors.Is(err, postgres.ErrOlder) {
		return m, err
	}
	switch {
	case d.Server() && refuse:
		return m, postgres.RefuseEarlier(ctx, d.name, d.schema)
	case d.Server():
		return m, postgres.Migrate(ctx, d.name, d.schema)
	case refuse:
		return m, sqlite.RefuseEarlier(ctx, d.name)
	}
	st, err := sqlite.Open(ctx, d.name, sqlite.Options{WatchInterval: -1})
	if err != nil {
		return m, err
	}
	return m, st.Close()
}

// inspect reports the schema's version, and problems of the database. It changes nothing.
func (d *Database) inspect(ctx context.Context) (Migrated, error) {
	if d.Server() {
		have, err := postgres.Inspect(ctx, d.name, d.schema)
		if err == nil && len(have.Lacks) > 0 {
			err = fmt.Errorf("%w: %s", postgres.ErrRights, fmt.Sprint(have.Lacks))
		}
		return Migrated{have.Version, len(postgres.Migrations())}, err
	}
	have, err := sqlite.Inspect(ctx, d.name)
	return Migrated{have.Version, have.Newest}, err
}

var backupVerb = command.Verb{
	Name: "backup", Args: "FILE", Does: "copy a SQLite database to a file, while hosts use it",
	More: "The copy is checked page by page. PostgreSQL has pg_dump and its own backups: see postgres.md.",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON := NewDatabase(f), jsonFlag(f)
		return copying(db, asJSON, "FILE", func(ctx context.Context, file string) error {
			st, err := sqlite.Open(ctx, db.name, sqlite.Options{NoMigrate: true, WatchInterval: -1})
			if err != nil {
				return err
			}
			return errors.Join(st.Backup(ctx, file), st.Close())
		}, "is copied to")
	},
}

var restoreVerb = command.Verb{
	Name: "restore", Args: "BACKUP", Does: "copy a backup to the file of -db",
	More: "The file must not exist: stop the hosts, and move the old file away with those next to it.",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON := NewDatabase(f), jsonFlag(f)
		return copying(db, asJSON, "BACKUP", func(ctx context.Context, file string) error {
			return sqlite.Restore(ctx, file, db.name)
		}, "is restored from")
	},
}

var restoredVerb = command.Verb{
	Name: "restored", Does: "mark new events after any other kind of restore",
	More: "So no event gets the id of a lost one. PostgreSQL does it by itself after a restore to a point in time or " +
		"a promotion. Call it before hosts start: docs/tutorials/restore.md says when. Earlier releases refuse the " +
		"database afterwards.",
	Prepare: func(f *flag.FlagSet) command.Action {
		db, asJSON := NewDatabase(f), jsonFlag(f)
		return func(ctx context.Context, c command.Call) (int, error) {
			if _, err := c.Want(""); err != nil {
				return command.Misused, err
			}
			if err := db.resolve(); err != nil {
				return command.Misused, err
			}
			_, err := db.inspect(ctx)
			switch {
			case err != nil:
			case db.Server():
				err = postgres.Restored(ctx, db.name, db.schema)
			default:
				err = sqlite.Restored(ctx, db.name)
			}
			if err != nil {
				return command.Failed, db.explain(err)
			}
			p := newPrinter(c.Out, *asJSON)
			if p.json {
				p.object(map[string]string{"db": db.String()})
				return command.Succeeded, p.err
			}
			p.line(terminal.Green, fmt.Sprintf("✓ new events of %s are marked", db))
			return command.Succeeded, p.err
		}
	},
}

// copying copies between the database and the file in the argument.
func copying(db *Database, asJSON *bool, argument string, do func(ctx context.Context, file string) error,
	done string) command.Action {
	return func(ctx context.Context, c command.Call) (int, error) {
		args, err := c.Want(argument)
		if err != nil {
			return command.Misused, err
		}
		if err := db.resolve(); err != nil {
			return command.Misused, err
		}
		if db.Server() {
			return command.Misused, command.Misusef("%s is a PostgreSQL server: use pg_dump; see docs/postgres.md", db)
		}
		switch err := do(ctx, args[0]); {
		case errors.Is(err, fs.ErrExist):
			return command.Misused, command.Misusef("the file exists and is not overwritten: %w", err)
		case err != nil:
			return command.Failed, db.explain(err)
		}
		p := newPrinter(c.Out, *asJSON)
		if p.json {
			p.object(map[string]string{"db": db.String(), "file": args[0]})
			return command.Succeeded, p.err
		}
		p.line(terminal.Green, fmt.Sprintf("✓ %s %s %s", db, done, args[0]))
		return command.Succeeded, p.err
	}
}
