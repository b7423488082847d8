package console

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/terminal"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/people"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
	"github.com/interlude-go/interlude/store/sqlite"
)

// Env is the variable that names the database without -db.
var Env = command.Variable(command.Prefix, "db")

type Database struct {
	name      string // a path, or a URL
	schema    string
	dir       string // the runs' folders; empty: no files of questions
	directory string // the file of people; empty: no deputies, and people are shown by their IDs
}

func NewDatabase(f *flag.FlagSet) *Database {
	d := &Database{}
	f.StringVar(&d.name, "db", "", "the `database` of the runs: a SQLite file, or a postgres:// URL; default: $"+Env)
	f.StringVar(&d.schema, "schema", "", "the `schema` of the tables in PostgreSQL; default: interlude")
	return d
}

func (d *Database) withDirectory(f *flag.FlagSet) *Database {
	f.StringVar(&d.directory, "directory", "", "the `file` with people's names and deputies, as in serve's configuration")
	return d
}

type Store interface {
	store.Store
	store.Watcher
	store.Meter
}

// resolve checks the flags.
func (d *Database) resolve() error {
	switch {
	case d.name == "":
		return command.Misusef("want a database: -db FILE or -db postgres://HOST/NAME, or set $%s", Env)
	case strings.Contains(d.name, "://") && !d.Server():
		return command.Misusef("-db is %.80q: want the path of a SQLite file, or a postgres:// URL", d.String())
	case !d.Server() && keywordPassword.MatchString(d.name): // a file would get the password as its name
		return command.Misusef("-db is %.80q: want the path of a SQLite file, or a postgres:// URL", d.String())
	case d.schema != "" && !d.Server():
		return command.Misusef("-schema is only for PostgreSQL, and %s is a file: leave it out", d)
	}
	return nil
}

// Server reports whether the database is PostgreSQL.
func (d *Database) Server() bool {
	return strings.HasPrefix(d.name, "postgres://") || strings.HasPrefix(d.name, "postgresql://")
}

// File is the path of a SQLite file; empty: none is named, or the database is PostgreSQL.
func (d *Database) File() string {
	if d.Server() {
		return ""
	}
	return d.name
}

// String names the database without secrets: a URL may have a password before its host and in its
// query, and so may keywords and values that were mistaken for a file. Of a URL that cannot be
// split reliably only the scheme is shown.
func (d *Database) String() string {
	scheme, _, isURL := strings.Cut(d.name, "://")
	if !isURL {
		return keywordPassword.ReplaceAllString(d.name, "${1}xxxxx")
	}
	u, err := url.Parse(d.name)
	if err != nil || u.Fragment != "" || u.User == nil && strings.Contains(d.name, "@") {
		return scheme + "://…"
	}
	pairs := strings.Split(u.RawQuery, "&")
	for i, pair := range pairs {
		name, _, _ := strings.Cut(pair, "=")
		if plain, err := url.QueryUnescape(name); err != nil || strings.Contains(strings.ToLower(plain), "password") {
			pairs[i] = name + "=xxxxx"
		}
	}
	u.RawQuery = strings.Join(pairs, "&")
	return u.Redacted()
}

// keywordPassword matches passwords in a connection string of keywords and values.
var keywordPassword = regexp.MustCompile(`(?i)(password\s*=\s*)('(?:[^'\\]|\\.)*'?|(?:\\.|\S)+)`)

func (d *Database) flags() string { return "-db " + command.Quote(d.String()) }

type access int

const (
	once  access = iota // for one or two calls
	watch               // while following the commits of others
)

// open opens the database for a verb, without changing its schema.
func (d *Database) open(ctx context.Context, how access) (Store, error) {
	if err := d.resolve(); err != nil {
		return nil, err
	}
	var st Store
	var err error
	if d.Server() {
		st, err = opened(postgres.Open(ctx, d.name, postgres.Options{Schema: d.schema, NoMigrate: true,
			NoListen: how == once}))
	} else {
		o := sqlite.Options{NoMigrate: true}
		if how == once {
			o.WatchInterval = -1
		}
		st, err = opened(sqlite.Open(ctx, d.name, o))
	}
	return st, d.explain(err)
}

// OpenExisting opens the database for a verb that does not read runs, and neither creates nor
// changes it.
func (d *Database) OpenExisting(ctx context.Context) (Store, error) { return d.open(ctx, once) }

// OpenHost opens the database for a serving host. If neither the flags nor the environment name
// one, it is this file. A missing file is created, and fresh reports that. A database with an older
// schema is refused: only migrate changes it.
func (d *Database) OpenHost(ctx context.Context, file string) (_ Store, fresh bool, _ error) {
	if d.name == "" {
		d.name = file
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, false, command.Misusef("cannot create the folder for runs: %w; name a file with -db", err)
		}
	}
	if err := d.resolve(); err != nil {
		return nil, false, err
	}
	if _, err := os.Stat(d.name); !d.Server() && errors.Is(err, fs.ErrNotExist) {
		st, err := opened(sqlite.Open(ctx, d.name, sqlite.Options{}))
		return st, true, d.explain(err)
	}
	st, err := d.open(ctx, watch)
	return st, false, err
}

// CheckSchema returns an error if the schema has become unusable for this program while the store is
// open, because a newer release has changed it. SQLite files cannot: their schema does not change
// while a host has them open.
func (d *Database) CheckSchema(ctx context.Context, st Store) error {
	if server, ok := st.(*postgres.Store); ok {
		if _, err := server.Inspect(ctx); errors.Is(err, postgres.ErrNewer) || errors.Is(err, postgres.ErrOlder) {
			return d.explain(err)
		}
	}
	return nil
}

// Queue names the database of the notices' queue for database/sql: on PostgreSQL the runs'
// database, on SQLite a file next to theirs.
func (d *Database) Queue() (driver, name string) {
	if d.Server() {
		return "pgx", d.name
	}
	return "sqlite", d.name + ".notices?_pragma=busy_timeout(10000)&_pragma=synchronous(FULL)"
}

// opened turns the nil pointer of a failed call into a nil Store.
func opened[S Store](st S, err error) (Store, error) {
	if err != nil {
		return nil, err
	}
	return st, nil
}

func (d *Database) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return command.Misusef("there is no file %s: correct -db, or create it with interlude migrate %s", d, d.flags())
	case errors.Is(err, sqlite.ErrOlder), errors.Is(err, postgres.ErrOlder):
		return command.Misusef("the schema of %s is missing, or older than this program needs: make a "+
			"backup, then interlude migrate %s", d, d.flags())
	case errors.Is(err, sqlite.ErrInUse):
		_, who, _ := strings.Cut(err.Error(), sqlite.ErrInUse.Error()+": ")
		return command.Misusef("%s has an older release's schema, and one of its hosts is running: %s", d, who)
	case errors.Is(err, sqlite.ErrNewer), errors.Is(err, postgres.ErrNewer):
		return command.Misusef("%s has a newer release's schema: use an interlude that is at least as new", d)
	case errors.Is(err, sqlite.ErrNotDatabase), errors.Is(err, sqlite.ErrForeign):
		return command.Misusef("%s is the file of another program: correct -db", d)
	case errors.Is(err, postgres.ErrUnreachable):
		return fmt.Errorf("%w: %s does not answer (%w): check that the server is running, and correct -db",
			lifecycle.ErrUnavailable, d, cause(err))
	case errors.Is(err, postgres.ErrConfig):
		return command.Misusef("-db is invalid: %w", err)
	case errors.Is(err, sqlite.ErrReadOnly), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: let this user write %s and its folder, or name another file with -db", err, d)
	}
	return err
}

// cause returns the innermost error, which has the shortest text.
func cause(err error) error {
	for {
		var next error
		switch e := err.(type) { //nolint:errorlint // descends step by step
		case interface{ Unwrap() error }:
			next = e.Unwrap()
		case interface{ Unwrap() []error }:
			all := e.Unwrap()
			next = all[len(all)-1]
		}
		if next == nil {
			return err
		}
		err = next
	}
}

func (d *Database) client(ctx context.Context, how access) (*client, error) {
	st, err := d.open(ctx, how)
	if err != nil {
		return nil, err
	}
	cfg := lifecycle.ClientConfig{Store: st, Logger: slog.New(slog.DiscardHandler), Remember: maxMemory,
		Dir: d.dir}
	if d.directory != "" {
		if cfg.Directory, err = people.Open(d.directory, cfg.Logger); err != nil {
			return nil, errors.Join(command.Misusef("-directory: %w", err), st.Close())
		}
	}
	c, err := lifecycle.NewClient(cfg)
	if err != nil {
		return nil, errors.Join(err, st.Close())
	}
	directory, _ := cfg.Directory.(people.Directory)
	return &client{c, st, directory}, nil
}

func (d *Database) with(ctx context.Context, how access, task func(*client) error) (int, error) {
	cl, err := d.client(ctx, how)
	if err != nil {
		return command.Failed, err
	}
	err = task(cl)
	if end := cl.Close(); err == nil {
		err = end
	}
	return command.Succeeded, err
}

type client struct {
	*lifecycle.Client
	store     Store
	directory people.Directory // nil without -directory
}

// named returns a function that shows a person by the name of the directory, if it has one, and ID.
func (c *client) named(ctx context.Context) func(id string) string {
	return func(id string) string {
		if c.directory != nil {
			if person, err := c.directory.Person(ctx, id); err == nil && person.Name != "" {
				return fmt.Sprintf("%s (%s)", terminal.Line(person.Name), terminal.Name(id))
			}
		}
		return terminal.Name(id)
	}
}

func (c *client) Close() error {
	c.Client.Close()
	return c.store.Close()
}
