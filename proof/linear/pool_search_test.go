//go:build search

package linear_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/proof/linear"
)

// The check of pools can fail, too: each bug is found.
func TestBrokenPoolsAreRefused(t *testing.T) {
	for name, breaks := range brokenPools {
		t.Run(name, func(t *testing.T) {
			sum, spec := tally{}, linear.Pool{Strict: true}.Spec()
			for s := seed(); sum.histories < 2000; s++ {
				c := newContest(t, spoil(share(t, "memory", lanes), breaks), s)
				if judgePool(t, spec, c, &sum) == "" {
					continue
				}
				r, err := spec.Explain(t.TempDir(), "pool", c.log.Operations(), patience)
				require.NoError(t, err)
				text, err := os.ReadFile(r.Text)
				require.NoError(t, err)
				require.Contains(t, string(text), "none of these can be next")
				t.Logf("refused after %s", &sum)
				return
			}
			t.Errorf("a broken pool was accepted: %s", &sum)
		})
	}
}
