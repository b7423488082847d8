//go:build search

package linear_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/interlude-go/interlude/proof/stores"
)

// C4 C5 C8 E4 E6 I1 I2 J1 J5 J6 J13 K1 K2 K5 K7: the answers that clients and nodes get about a run
// could have been given one call at a time, according to the contract.
func TestRunsAreLinearizable(t *testing.T) {
	for _, name := range stores.Kinds {
		t.Run(name, func(t *testing.T) {
			const batches, size = 4, 6
			began, sum := time.Now(), tally{}
			handles := share(t, name, processes)
			for s := seed(); sum.histories < *histories; s++ {
				w := newWorld(t, handles, s)
				w.live(batches, size)
				history := w.log.Operations()
				if refused := judge(t, history, &sum); len(refused) > 0 {
					for _, r := range report(t, refusedDir(t), s, history, refused) {
						t.Errorf("seed %d: a history could not have happened: see %s and %s%s", s,
							filepath.ToSlash(r.Text), filepath.ToSlash(r.HTML), r.Why)
					}
				}
			}
			t.Logf("%s in %s; commits of nodes: %v", &sum, time.Since(began).Round(time.Millisecond), sum.events)
		})
	}
}
