package sqlite_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// old is a file of the first release with few runs.
func old(t *testing.T) string {
	t.Helper()
	return dumped(t, earliest, `DELETE FROM runs WHERE n % 3 = 0 AND id NOT IN ('waiting', 'answered')`)
}

// filled is the content of the columns and tables that an upgrade fills.
func filled(t *testing.T, path string) (lines []string) {
	t.Helper()
	for _, query := range []string{`SELECT 'engine ' || id || ' ' || engine AS line FROM runs WHERE finished_at IS NULL`,
		`SELECT 'label ' || label || ' ' || run AS line FROM labels`} {
		var all string
		require.NoError(t, plain(t, path).QueryRowContext(t.Context(),
			`SELECT coalesce(group_concat(line, char(10)), '') FROM (`+query+`)`).Scan(&all))
		lines = append(lines, strings.Split(all, "\n")...)
	}
	slices.Sort(lines)
	return lines
}

// labeled lists the runs by labels in every way: a rare one, a common one, both; and the waiting runs.
func labeled(t *testing.T, s *sqlite.Store) (ids [][]string) {
	t.Helper()
	for _, labels := range []map[string]string{{"run": "waiting"}, {"team": "blue"},
		{"run": "waiting", "team": "blue"}, {"team": "red"}} {
		for _, list := range []func(after string) (store.Page, error){
			func(after string) (store.Page, error) {
				return s.Runs(t.Context(), store.Query{Labels: labels, Limit: 2, After: after})
			},
			func(after string) (store.Page, error) {
				return s.Waiting(t.Context(), store.WaitingQuery{
					Query: store.Query{Labels: labels, Limit: 2, After: after}})
			},
		} {
			found := []string{}
			for after := ""; ; {
				page, err := list(after)
				require.NoError(t, err)
				for i := range page.Runs {
					found = append(found, page.Runs[i].ID)
				}
				if after = page.Next; after == "" {
					break
				}
			}
			ids = append(ids, found)
		}
	}
	return ids
}

// upgraded returns the content of the file after an upgrade in one transaction.
func upgraded(t *testing.T) (content []string, lists [][]string, schema []string) {
	t.Helper()
	path := old(t)
	s, err := sqlite.Open(t.Context(), path, quick)
	require.NoError(t, err)
	defer s.Close()
	return filled(t, path), labeled(t, s), describe(t, s)
}

// R6: a large file of the first release is served while its new columns are filled in batches:
// listings find all runs, other hosts open the file and write, a parked run that is answered is
// claimed, and releases that would miss something are refused. At the end all is as after an upgrade
// in one transaction.
func TestR6FileIsServedWhileItIsUpgraded(t *testing.T) {
	content, lists, schema := upgraded(t)
	path := old(t)
	batch := make(chan struct{})
	s, err := sqlite.Open(t.Context(), path, quick.InBatches(1, func() { <-batch }))
	require.NoError(t, err)
	defer s.Close()
	other, err := sqlite.Open(t.Context(), path, quick.InBatches(1, func() { <-batch }))
	require.NoError(t, err)
	defer other.Close()
	finish := sync.OnceFunc(func() { close(batch) })
	defer finish()
	db := plain(t, path)
	require.Greater(t, number(t, db, `PRAGMA user_version`), 1<<20*8, "no earlier release opens it")
	require.NotEqual(t, content, filled(t, path))
	require.Equal(t, schema, slices.DeleteFunc(describe(t, s), func(line string) bool {
		return line == "column filling.last INTEGER NOT NULL" || line == "column filling.next INTEGER NOT NULL"
	}), "the indexes are there already")

	client, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: other})
	require.NoError(t, err)
	before, err := client.Get(t.Context(), "waiting")
	require.NoError(t, err)
	_, err = client.Reply(t.Context(), "waiting", lifecycle.Reply{ID: before.Open[0].ID, Text: "blue", Key: "k"})
	require.NoError(t, err)
	join(t, s, "n")
	request := claim("n")
	request.Max, request.Now, request.Engines = 100, time.Now(), []string{"default"}
	claimed, err := s.Claim(t.Context(), request)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(claimed, func(c store.Claimed) bool { return c.Run.ID == "waiting" }))
	require.True(t, slices.ContainsFunc(claimed, func(c store.Claimed) bool { return c.Run.ID == "answered" }),
		"it was queued before")

	// The answered run has left the waiting runs.
	for i := 1; i < len(lists); i += 2 {
		lists[i] = slices.DeleteFunc(lists[i], func(id string) bool { return id == "waiting" })
	}
	runs := number(t, db, `SELECT count(*) FROM runs`)
	for range runs {
		require.Equal(t, lists, labeled(t, s))
		require.Equal(t, lists, labeled(t, other))
		batch <- struct{}{}
	}
	finish()
	require.Eventually(t, func() bool { return !s.Unfilled() && !other.Unfilled() }, time.Minute, time.Millisecond)
	require.Equal(t, lists, labeled(t, s))
	require.Equal(t, content, filled(t, path))
	require.Equal(t, schema, describe(t, s))
	require.Equal(t, len(sqlite.Migrations()), number(t, db, `PRAGMA user_version`), "earlier releases open it")
	var check string
	require.NoError(t, db.QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&check))
	require.Equal(t, "ok", check)
	require.NoError(t, sqlite.RefuseEarlier(t.Context(), path))
}

// envUpgrade makes this program a host that upgrades the file in batches of one run. It kills itself
// before the first one, and when that was done, before the second.
const envUpgrade = "INTERLUDE_SQLITE_UPGRADE"

func upgradeAndDie(path string) error {
	mark, batches := path+".begun", 0
	s, err := sqlite.Open(context.Background(), path, quick.InBatches(1, func() {
		_, err := os.Stat(mark)
		if batches++; batches == 2 || errors.Is(err, fs.ErrNotExist) {
			_ = os.WriteFile(mark, nil, 0o600)
			killSelf()
			select {}
		}
	}))
	if err != nil {
		return err
	}
	s.Fill()
	return s.Close()
}

// R6: an upgrade in batches that is killed before, between and after its batches continues where it
// was.
func TestR6UpgradeContinuesWhereItWasKilled(t *testing.T) {
	content, lists, schema := upgraded(t)
	path := old(t)
	killed := 0
	for {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), envUpgrade+"="+path)
		out, err := cmd.CombinedOutput()
		s, opening := sqlite.Open(t.Context(), path, sqlite.Options{NoMigrate: true, WatchInterval: -1})
		require.NoError(t, opening)
		require.Equal(t, lists, labeled(t, s))
		require.NoError(t, s.Close())
		if err == nil {
			break
		}
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		require.Equal(t, -1, exit.ExitCode(), "killed: %s", out)
		killed++
	}
	require.Equal(t, killed, number(t, plain(t, path), `SELECT count(*) FROM runs`))
	require.Equal(t, content, filled(t, path))
	s, err := sqlite.Open(t.Context(), path, quick)
	require.NoError(t, err)
	defer s.Close()
	require.Equal(t, schema, describe(t, s))
}

// killSelf ends this process as kill -9 does.
func killSelf() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
}
