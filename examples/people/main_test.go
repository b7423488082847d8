package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
	"github.com/interlude-go/interlude/store/sqlite"
)

// asProgram makes this test program run the example.
const asProgram = "INTERLUDE_PEOPLE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// program is the example with these arguments. It is killed when the test ends.
func program(t *testing.T, args ...string) (_ *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	out = new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	return cmd, out
}

// K1, K2, K3, K5: SIGKILL ends the program between the two required replies. It then continues once
// with both answers, and the third question is closed.
func TestKilledBetweenTheReplies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "trip.db")
	st, err := sqlite.Open(t.Context(), file, sqlite.Options{})
	require.NoError(t, err)
	defer st.Close()
	watcher, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: st})
	require.NoError(t, err)

	first, _ := program(t, file)
	require.NoError(t, first.Start())
	asked := 0
	for asked < 3 { // until the run exists and waits
		for event, err := range watcher.Events(t.Context(), "trip", 0) {
			if err != nil {
				require.ErrorIs(t, err, lifecycle.ErrNotFound)
				asked = 0
				break
			}
			if event.Type == lifecycle.TypeInputRequired {
				if asked++; asked == 3 {
					break
				}
			}
		}
	}
	fay, _ := program(t, file, "fay")
	require.NoError(t, fay.Run())
	require.NoError(t, first.Process.Kill())
	require.Error(t, first.Wait(), "it was killed")

	second, out := program(t, file)
	require.NoError(t, second.Start())
	bob, _ := program(t, file, "bob")
	require.NoError(t, bob.Run())
	require.NoError(t, second.Wait())
	require.Equal(t, "fay: yes; bob: {\"seats\": 3}\n", out.String())
	run, err := watcher.Get(t.Context(), "trip")
	require.NoError(t, err)
	require.Equal(t, 2, run.Attempt, "one turn asked, and one continued")
}

// K7: lee is reminded after an hour, and after a day the board may also answer.
func TestRemindedAndEscalated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, err := lifecycle.New(lifecycle.Config{Store: memory.New(), Engine: engine.Func(agent), Forgiving: true})
		require.NoError(t, err)
		defer lc.Close()
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- lc.Serve(ctx) }()
		_, err = lc.Submit(ctx, lifecycle.Spec{ID: "trip", Prompt: "Book a trip."})
		require.NoError(t, err)
		synctest.Wait()

		board := lifecycle.Actor{ID: "eve", Groups: []string{"board"}}
		reply := lifecycle.Reply{ID: 3, Text: "yes", Actor: board}
		seen := func(kind string) (n int) {
			run, err := lc.Get(ctx, "trip")
			require.NoError(t, err)
			read := uint64(0)
			for event, err := range lc.Events(ctx, "trip", 0) {
				require.NoError(t, err)
				if event.Type == kind {
					n++
				}
				if read = event.Seq; read == run.Seq {
					break
				}
			}
			return n
		}
		time.Sleep(time.Hour + time.Minute)
		synctest.Wait()
		require.Equal(t, 1, seen(lifecycle.TypeReminder))
		require.Zero(t, seen(lifecycle.TypeEscalated))
		_, err = lc.Reply(ctx, "trip", reply)
		require.ErrorIs(t, err, lifecycle.ErrNotAsked)

		time.Sleep(23 * time.Hour)
		synctest.Wait()
		require.Equal(t, 1, seen(lifecycle.TypeEscalated))
		_, err = lc.Reply(ctx, "trip", reply)
		require.NoError(t, err)
		_, err = lc.Reply(ctx, "trip", answers["fay"])
		require.NoError(t, err)
		run, err := lc.Wait(ctx, "trip")
		require.NoError(t, err)
		require.Equal(t, lifecycle.StateSucceeded, run.State)
		stop()
		require.NoError(t, <-served)
	})
}
