package process_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hostEnv makes this test binary a host; its value is the task.
const hostEnv = "PROCESS_TEST_HOST"

// host executes the task; see host_linux_test.go.
var host = func(string) int { return 2 }

func TestMain(m *testing.M) {
	if task := os.Getenv(hostEnv); task != "" {
		os.Exit(host(task))
	}
	os.Exit(m.Run())
}

// grace is short: some tests have processes that ignore TERM.
const grace = 200 * time.Millisecond

// patience bounds a wait; pause is the polling interval.
const (
	patience = time.Minute
	pause    = 2 * time.Millisecond
)

// until waits, in this goroutine, until the condition holds.
func until(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	look := time.NewTicker(pause)
	defer look.Stop()
	for deadline := time.Now().Add(patience); !holds(); <-look.C {
		require.False(tb, time.Now().After(deadline), "waited in vain until %s", what)
	}
}
