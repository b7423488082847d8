package sqlite_test

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
	"github.com/interlude-go/interlude/store/sqlite"
)

// frozen are the SHA-256 sums of the migrations. A new one is added here by the commit that adds
// it; none is ever changed, because the files that it made do not change with it.
var frozen = map[string]string{
	"migrations/0001_runs.sql":     "e69220b9b5fd88d8552bfbc3140f1bb3b46160fde18aa4aca56efe3e9081ff6f",
	"migrations/0002_identity.sql": "140f17bba26c94dd33f8e098df26b48bd3cc1c5a835f70e43710bc735bf7689b",
	"migrations/0003_labels.sql":   "e0c0dda64dcb3905d362148fa745428b3af32f0835ced93785ff332fbff39785",
	"migrations/0004_changes.sql":  "d72ff977834de17aaaa11560fda24c41454432a1b61203356f4dbf49e82bf0a8",
	"migrations/0005_engines.sql":  "e65cbfc5820bbe83310070bd1d895091987fd93959e8ce249032c289a4082b14",
	"migrations/0006_watchers.sql": "2aecf533d65a8aa8f8a5e8a2d84d274cbe346e70d6fe7a2c3c1483552f16cf04",
}

// J8: a migration that was on the main branch stays as it is.
func TestMigrationsAreFrozen(t *testing.T) {
	sums := make(map[string]string)
	for _, name := range sqlite.Migrations() {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		sum := sha256.Sum256(text)
		sums[name] = hex.EncodeToString(sum[:])
	}
	require.Equal(t, frozen, sums)
}

// releases has the stored data of each version; earliest is the oldest file among it.
const (
	releases = "../../testdata/releases"
	earliest = "v0.0.0-4b62763/sqlite.sql"
)

// dumped is a file that a SQL text of a release makes.
func dumped(t *testing.T, name string, change ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(releases, name))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "runs.db")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	for _, statements := range append([]string{string(text)}, change...) {
		_, err = db.ExecContext(t.Context(), statements)
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())
	return path
}

// J8: a file from an earlier version has a new file's schema after its migration. proof/releases
// tests that its runs continue.
func TestOpenMigratesFilesOfEarlierVersions(t *testing.T) {
	fresh, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "runs.db"), quick)
	require.NoError(t, err)
	defer fresh.Close()
	files, err := filepath.Glob(filepath.Join(releases, "*", "sqlite.sql"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		name, err := filepath.Rel(releases, file)
		require.NoError(t, err)
		path := dumped(t, name)
		s, err := sqlite.Open(t.Context(), path, quick)
		require.NoError(t, err)
		require.Equal(t, describe(t, fresh), describe(t, s), name)
		id, err := s.Identity(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, id)
		require.Zero(t, number(t, plain(t, path), `SELECT count(*) FROM runs
			WHERE finished_at IS NULL AND engine NOT IN ('default', 'resident', 'elsewhere')`), "J4")
		require.NoError(t, s.Close())
	}
}

func describe(t *testing.T, s *sqlite.Store) []string {
	t.Helper()
	lines, err := s.Describe()
	require.NoError(t, err)
	return lines
}

// J8: a file whose schema contradicts its version is refused before anything is written to it, and
// the error names the fault and the remedy; an operator's additions are allowed.
func TestOpenRefusesFileOfAnotherSchema(t *testing.T) {
	for name, c := range map[string]struct {
		change string
		want   error
		says   []string
	}{
		"of an earlier commit": {`ALTER TABLE runs DROP COLUMN first; ALTER TABLE runs DROP COLUMN tail; DROP TABLE specs`, sqlite.ErrSchema, []string{"runs.first", "start with a new file"}},
		"with an index gone": {`DROP INDEX runs_ready`, sqlite.ErrSchema, []string{"runs_ready",
			"schema version 1"}},
		"with another index": {`DROP INDEX runs_ready; CREATE INDEX runs_ready ON runs (pool)`, sqlite.ErrSchema,
			[]string{"runs_ready"}},
		"with another type": {`ALTER TABLE nodes DROP COLUMN until; ALTER TABLE nodes ADD COLUMN until TEXT`,
			sqlite.ErrSchema, []string{"nodes.until"}},
		"without a version":     {`PRAGMA user_version = 0`, sqlite.ErrSchema, []string{"schema version 0"}},
		"of a negative version": {`PRAGMA user_version = -1`, sqlite.ErrSchema, []string{"schema version -1"}},
		"of a later version":    {`PRAGMA user_version = 1000`, sqlite.ErrNewer, []string{"1000", "use a version"}},
		"of a later level":      {`PRAGMA user_version = 4194310`, sqlite.ErrNewer, []string{"use a version"}},
		"of a version too far":  {`PRAGMA user_version = 2`, sqlite.ErrSchema, []string{"store.identity"}},
		"with additions":        {`ALTER TABLE nodes ADD COLUMN zone TEXT; CREATE TABLE mine (a); CREATE INDEX mine_runs ON runs (key)`, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			path := dumped(t, earliest, c.change)
			before, err := os.ReadFile(path)
			require.NoError(t, err)
			s, err := sqlite.Open(t.Context(), path, quick)
			if c.want == nil {
				require.NoError(t, err)
				require.NoError(t, s.Close())
				return
			}
			require.ErrorIs(t, err, c.want)
			for _, text := range c.says {
				require.ErrorContains(t, err, text)
			}
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, before, after, "left as it is")
			files, err := os.ReadDir(filepath.Dir(path))
			require.NoError(t, err)
			for _, f := range files {
				require.True(t, f.Name() == "runs.db" || strings.HasPrefix(f.Name(), "runs.db-"), f.Name())
			}
		})
	}
}

// J7: the table of departures is made where it is missing, without a new version of the schema, so
// that an earlier version of this package still opens the file.
func TestOpenAddsDepartures(t *testing.T) {
	path := dumped(t, earliest)
	for range 2 {
		s, err := sqlite.Open(t.Context(), path, quick)
		require.NoError(t, err)
		_, err = s.Expire(t.Context(), noon.AddDate(100, 0, 0))
		require.NoError(t, err)
		departures, err := s.Departures(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, departures, "of the nodes that have parked runs in the file")
		require.NoError(t, s.Close())
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		var version int
		require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA user_version").Scan(&version))
		require.Len(t, sqlite.Migrations(), version)
		_, err = db.ExecContext(t.Context(), "DROP TABLE departed")
		require.NoError(t, err)
		require.NoError(t, db.Close())
	}
}

// identityOfThisProcess returns the identity that nodes of this process have.
func identityOfThisProcess(t *testing.T) string {
	t.Helper()
	st := memory.New()
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: engine.Func(
		func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) { return engine.Done(""), nil })})
	require.NoError(t, err)
	defer lc.Close()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	run, err := lc.Submit(t.Context(), lifecycle.Spec{Prompt: "x"})
	require.NoError(t, err)
	_, err = lc.Wait(t.Context(), run.ID)
	require.NoError(t, err)
	nodes, err := st.Nodes(t.Context())
	require.NoError(t, err)
	cancel()
	require.NoError(t, <-served)
	require.Len(t, nodes, 1)
	return nodes[0].Identity
}

// J8: a file of an earlier version is not migrated while a node works with it, whose commits would
// fail from then on. It is left as it is.
func TestJ8OpenDoesNotMigrateUnderARunningNode(t *testing.T) {
	living := identityOfThisProcess(t)
	dead := living + "0" // another process had the number
	for name, c := range map[string]struct {
		identity string
		lease    time.Duration // from now on
		inUse    bool
	}{
		"its process lives":                       {living, time.Minute, true},
		"its process lives, and has not renewed":  {living, -time.Minute, true},
		"its process is dead":                     {dead, time.Minute, false},
		"another machine":                         {"elsewhere", time.Minute, true},
		"another machine, and has not renewed":    {"elsewhere", -time.Minute, false},
		"a system that cannot identify processes": {"", time.Minute, true},
		"another machine, whose lease just ended": {"v1 boot 1 1", -time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			path := dumped(t, earliest, fmt.Sprintf("INSERT INTO nodes (id, identity, lease, until) "+
				"VALUES ('older', '%s', 60000000000, %d)", c.identity, time.Now().Add(c.lease).UnixMicro()))
			before, err := sqlite.Inspect(t.Context(), path)
			require.ErrorIs(t, err, sqlite.ErrOlder)
			s, err := sqlite.Open(t.Context(), path, quick)
			if !c.inUse {
				require.NoError(t, err)
				require.NoError(t, s.Close())
				return
			}
			require.ErrorIs(t, err, sqlite.ErrInUse)
			require.ErrorContains(t, err, "older")
			after, err := sqlite.Inspect(t.Context(), path)
			require.ErrorIs(t, err, sqlite.ErrOlder)
			require.Equal(t, before, after)
		})
	}
}
