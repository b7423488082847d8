//go:build linux && (amd64 || arm64)

package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store/sqlite"
)

func TestMain(m *testing.M) {
	cast.ServeHost(func(ctx context.Context, p process) error { return p.serve(ctx) })
	os.Exit(m.Run())
}

// J8, J9: the power is lost at any point of a host's work on a SQLite file. Everything that was
// acknowledged by then is there, and another host brings all runs to their ends. If a flush is
// missing, or if commits do not wait for it, the same search finds losses.
func TestNothingIsLostWithThePower(t *testing.T) {
	sample.Sequential(t)
	full, err := recorded(t.Context(), 10, sqlite.Full)
	require.NoError(t, err)
	normal, err := recorded(t.Context(), 10, sqlite.Normal)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		search search
		finds  string
	}{
		"as it is":                         {search{trace: full, points: 84, settle: 12}, ""},
		"commits do not wait for the disk": {search{trace: normal, points: 14}, errLost.Error()},
		"the WAL is not flushed": {search{trace: full, points: 14, deaf: "runs.db-wal"},
			errLost.Error()},
		"the file is not flushed before its WAL goes": {search{trace: full, points: 35, deaf: "runs.db"}, "point"},
	} {
		t.Run(name, func(t *testing.T) {
			c.search.seed = 1
			found, err := c.search.run(t.Context())
			require.NoError(t, err)
			t.Logf("%s", found)
			require.Positive(t, found.Longest)
			if c.finds == "" {
				require.Empty(t, found.Wrong)
				return
			}
			require.Contains(t, strings.Join(found.Wrong, "\n"), c.finds)
		})
	}
}

// J8, J9: each of a host's system calls fails in turn. No run fails because of this, and no
// acknowledged data is lost, even if the power fails afterwards. Callers get errors that name the
// cause, and the host continues when calls succeed again.
func TestEveryCallMayFail(t *testing.T) {
	sample.Sequential(t)
	s := faultSearch{runs: 5, every: 97, seed: 1}
	found, err := s.run(t.Context())
	require.NoError(t, err)
	t.Logf("%s", found)
	require.Empty(t, found.Wrong)
	require.Greater(t, found.Hit, found.Cases*3/4)
	require.NotEmpty(t, found.Said)
}

// J8: a byte of the file is changed without the store. docs/internals/proof.md says which changes an
// inspection finds, and which it cannot find. Nothing panics or hangs.
func TestAChangedByte(t *testing.T) {
	sample.Sequential(t)
	full, err := recorded(t.Context(), 10, sqlite.Full)
	require.NoError(t, err)
	found, err := changed(t.Context(), full, 60, 1)
	require.NoError(t, err)
	t.Log(found)
	require.Positive(t, found[byReading]+found[byChecker])
	require.Positive(t, found[unused])

	// The replacement removes the number of a settled question. The question then reads as number
	// 0, and every page after 0 is the first page again.
	body := bytes.ReplaceAll(full.whole(1)["runs.db"], []byte(`{"question":{"interaction_id":2,`),
		[]byte("{\"question\":{\"interactio\xff_id\":2,"))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, seen, err := inspect(ctx, map[string][]byte{"runs.db": body}, nil)
	require.NoError(t, err)
	require.Equal(t, byReading, seen)
}

func TestAWrongCommandLineSaysWhatIsWrong(t *testing.T) {
	for args, want := range map[string]string{
		"-runs 0":          "-runs is 0",
		"-every -1":        "-every -1",
		"-deaf runs.db-x":  `-deaf is "runs.db-x"`,
		"-synchronous OFF": `-synchronous is "OFF"`,
		"now":              `unexpected argument "now"`,
	} {
		_, err := parse(strings.Fields(args))
		require.ErrorContains(t, err, want)
	}
}
