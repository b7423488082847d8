//go:build search

package sqlite_test

import (
	"bufio"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/internal/sample"
)

// randomKills is how many hosts are killed at random moments.
const randomKills = 200

// I9 E5 E6: kills at random moments, some hosts killed several times in a row.
func TestRecoveryAfterKillAtRandomMoments(t *testing.T) {
	seed := sample.Seed()
	t.Logf("seed %d", seed)
	var left atomic.Int64
	left.Store(randomKills)
	var lanes sync.WaitGroup
	for lane := range 2 {
		lanes.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(lane)))
			for left.Load() > 0 {
				path := filepath.Join(t.TempDir(), "runs.db")
				const runs = 4
				for range 1 + random.IntN(4) {
					if killAtRandom(t, path, runs, random) {
						left.Add(-1)
					}
				}
				finish(t, path, runs)
			}
		})
	}
	lanes.Wait()
}

// killAtRandom kills a host after a random number of its writes began or ended; it reports whether
// the host was still there.
func killAtRandom(t *testing.T, path string, runs int, random *rand.Rand) bool {
	t.Helper()
	cmd := child(t.Context(), path, runs, 0)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	until := 1 + random.IntN(60)
	for lines := bufio.NewScanner(out); until > 0 && lines.Scan(); until-- {
	}
	_ = cmd.Process.Kill()
	return cmd.Wait() != nil
}
