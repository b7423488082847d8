//go:build unix

package exec_test

import (
	"context"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/exec"
)

// governed is a trivial agent with all optional supervision enabled.
func governed(tb testing.TB, lines ...string) exec.Config {
	tb.Helper()
	cfg := secretShell(tb, lines...)
	cfg.TurnLimit, cfg.IdleLimit = time.Hour, time.Hour
	if runtime.GOOS == "linux" {
		cfg.MaxMemory = 1 << 30
	}
	return cfg
}

// bare runs only the command line.
func bare(tb testing.TB, cfg exec.Config) {
	tb.Helper()
	out, err := osexec.CommandContext(tb.Context(), cfg.Command, cfg.Args...).Output()
	require.NoError(tb, err)
	require.NotEmpty(tb, out)
}

func turned(tb testing.TB, e *exec.Engine, turn engine.Turn) {
	tb.Helper()
	o, err := e.RunTurn(tb.Context(), turn, &enginetest.Recorder{})
	require.NoError(tb, err)
	require.Equal(tb, "ok", o.FinalText)
}

// BenchmarkBare runs the command line, BenchmarkTurn the same as a turn. The difference must stay
// below 50 ms.
func BenchmarkBare(b *testing.B) {
	cfg := governed(b, saysOK)
	for b.Loop() {
		bare(b, cfg)
	}
}

func BenchmarkTurn(b *testing.B) {
	e, turn := started(b, governed(b, saysOK)), job(b)
	for b.Loop() {
		turned(b, e, turn)
		turn.Attempt++
	}
}

// A turn takes less than 10 MB of its host's memory.
func TestTurnTakesLittleMemoryOfTheHost(t *testing.T) {
	const n = 16
	e := started(t, governed(t, saysOK,
		`i=0; while [ $i -lt 200 ]; do echo '{"type":"message","text":"a message of a few words, again and again"}'; i=$((i+1)); done`, "touch begun", "exec sleep 1000"))
	before, residentBefore := held()
	ctx, cancel := context.WithCancelCause(t.Context())
	var all sync.WaitGroup
	for i := range n {
		turn := job(t)
		turn.RunID = "r" + strconv.Itoa(i)
		all.Go(func() { _, _ = e.RunTurn(ctx, turn, &enginetest.Recorder{}) }) // it is canceled
		until(t, "the agent runs", func() bool {
			_, err := os.Stat(filepath.Join(turn.WorkDir, "begun"))
			return err == nil
		})
	}
	after, residentAfter := held()
	cancel(engine.ErrCanceled)
	all.Wait()
	t.Logf("each of %d turns at once: %d kB in use, %d kB resident", n, (after-before)/n>>10,
		(residentAfter-residentBefore)/n>>10)
	require.Less(t, (after-before)/n, 10<<20)
	require.Less(t, (residentAfter-residentBefore)/n, 10<<20)
}

// held returns this process's heap and stacks in use, and its resident memory where visible, in
// bytes.
func held() (used, resident int) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	statm, err := os.ReadFile("/proc/self/statm")
	if err == nil {
		pages, _ := strconv.Atoi(strings.Fields(string(statm))[1]) // the kernel writes numbers
		resident = pages * os.Getpagesize()
	}
	return int(m.HeapInuse + m.StackInuse), resident
}
