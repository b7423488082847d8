//go:build race

package fcmp

import (
	"flag"
	"os"
	"testing"
)

// stride tries each 16th of the enumerated cases. Each test of this package runs in a single
// goroutine, so the race detector can find nothing in it, and makes it ten times slower. CI tries
// all cases without the detector.
const stride = 16

// TestMain reduces the number of cases that rapid draws by default. Flags on the command line take
// precedence.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "10"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
