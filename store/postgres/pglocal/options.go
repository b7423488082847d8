package pglocal

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Options configure Start. The zero value is a temporary server with PostgreSQL's own settings.
type Options struct {
	// Dir keeps the server's files. Empty: a temporary folder, which Stop removes. Stop keeps any
	// other folder, and a later Start with it finds the data again, on another port. It is created
	// if missing; an existing one must be empty or from an earlier Start. For root, the server's
	// user must be able to reach it: a folder inside another with mode 0700 is refused.
	Dir string
	// Settings are written as in postgresql.conf: "max_connections": "20", "shared_buffers":
	// "256MB". The package sets the address, the port and the sockets. ALTER SYSTEM goes before
	// Settings.
	Settings map[string]string
	// Log receives the server's log; nil: discarded. If it blocks, so does the server.
	Log io.Writer
	// Bin is the folder of initdb and postgres. Empty: INTERLUDE_PG_BIN from the environment, else the
	// folder of initdb in PATH, else the newest of the usual system folders.
	Bin string
	// User runs the server if root starts it; empty: postgres if it exists, else nobody. Ignored for
	// other users.
	User string
}

// settingName matches PostgreSQL's setting names, with an optional prefix for extensions.
var settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?$`)

// ownSettings are given on the command line, where they win.
var ownSettings = []string{"port", "listen_addresses", "unix_socket_directories", "data_directory"}

func (o Options) check() (Options, error) {
	for name, value := range o.Settings {
		switch {
		case !settingName.MatchString(name):
			return o, fmt.Errorf("pglocal: settings: %q is not the name of a setting", name)
		case slices.Contains(ownSettings, strings.ToLower(name)):
			return o, fmt.Errorf("pglocal: settings: %s is chosen by this package: leave it out", name)
		case strings.ContainsAny(value, "\x00\r\n"):
			return o, fmt.Errorf("pglocal: settings: the value of %s has a line's end or a zero byte: %q", name, value)
		}
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	if o.Dir != "" {
		dir, err := filepath.Abs(o.Dir)
		if err != nil {
			return o, fmt.Errorf("pglocal: folder: %w", err)
		}
		o.Dir = dir
	}
	return o, nil
}

func (o Options) configuration() string {
	var lines []string
	for name, value := range o.Settings {
		lines = append(lines, fmt.Sprintf("%s = '%s'\n", name, strings.NewReplacer(`\`, `\\`, `'`,
			`''`).Replace(value)))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// ErrMissing: PostgreSQL's programs are not installed. The text names the packages to install.
var ErrMissing = errors.New("PostgreSQL's programs initdb and postgres are missing: install them (Debian, Ubuntu: " +
	"apt-get install -y postgresql; macOS: brew install postgresql), or name their folder in INTERLUDE_PG_BIN")

// ErrStopped: the server was stopped permanently, and its files may be gone.
var ErrStopped = errors.New("pglocal: the server was stopped: start another")
