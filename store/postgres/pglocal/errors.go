package pglocal

import "errors"

// ErrMissing says that PostgreSQL's programs are not installed, and what to install, in one line.
var ErrMissing = errors.New("PostgreSQL's programs initdb and postgres are missing: install them (Debian, Ubuntu: " +
	"apt-get install -y postgresql; macOS: brew install postgresql), or name their folder in INTERLUDE_PG_BIN")

// ErrStopped says that the server was stopped for good, and its files may be gone.
var ErrStopped = errors.New("pglocal: the server was stopped: start another")
