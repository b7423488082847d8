//go:build race

package fcmp

import (
	"flag"
	"os"
	"testing"
)

// Each of these tests computes in one goroutine: the race detector finds nothing there, and makes
// it ten times as slow. CI runs them in full without it.
const stride = 16

// TestMain has rapid draw fewer cases than it does by default. Flags go before it.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "10"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
