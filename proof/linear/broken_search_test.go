//go:build search

package linear_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The check can fail: the histories of each broken store are refused, and the refusal can be read.
func TestBrokenStoresAreRefused(t *testing.T) {
	for name, breaks := range brokenStores {
		t.Run(name, func(t *testing.T) {
			const worlds = 400 // an upper bound: most bugs show within a few worlds
			began, sum := time.Now(), tally{}
			for s := seed(); sum.histories < 24*worlds; s++ {
				w := newWorld(t, spoil(share(t, "memory", processes), breaks), s)
				w.live(4, 6)
				history := w.log.Operations()
				refused := judge(t, history, &sum)
				if len(refused) == 0 {
					continue
				}
				r := report(t, t.TempDir(), s, history, refused[:1])[0]
				text, err := os.ReadFile(r.Text)
				require.NoError(t, err)
				require.Contains(t, string(text), "none of these can be next")
				picture, err := os.Stat(r.HTML)
				require.NoError(t, err)
				require.NotZero(t, picture.Size())
				t.Logf("refused after %s in %s", &sum, time.Since(began).Round(time.Millisecond))
				return
			}
			t.Errorf("a broken store was accepted: %s", &sum)
		})
	}
}
