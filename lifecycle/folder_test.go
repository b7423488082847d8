package lifecycle

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// diary is an agent that asks once, and notes which run and turn was in its home before; the
// answers come back as what it found.
func diary(t *testing.T, who string, found map[string]string) agent {
	t.Helper()
	return agent{turn: func(_ context.Context, turn engine.Turn) (engine.Outcome, error) {
		file := filepath.Join(turn.HomeDir, "diary")
		before, err := os.ReadFile(file)
		if err != nil {
			before = nil
		}
		found[who+turn.RunID] += "<" + string(before) + ">"
		require.NoError(t, os.WriteFile(file, []byte(who), 0o600))
		if len(turn.Answers) == 0 {
			return asking("?"), nil
		}
		return finished(), nil
	}}
}

// TestTwoStoresShareNoFolder: J11, with one Config.Dir and runs of one id. Each run goes on in its
// own folder, also after a restart.
func TestTwoStoresShareNoFolder(t *testing.T) {
	dir, found := t.TempDir(), make(map[string]string)
	synctest.Test(t, func(t *testing.T) {
		stores := map[string]store.Store{"A": newStore(t), "B": newStore(t)}
		for _, answer := range []bool{false, true} {
			for _, who := range []string{"A", "B"} {
				lc, stop := serve(t, Config{Store: stores[who], Engine: diary(t, who, found), Dir: dir})
				want := fsm.StateWaitingUser
				if answer {
					_, err := lc.Reply(t.Context(), "order-7", interaction.Reply{ID: 1, Text: "yes"})
					require.NoError(t, err)
					want = fsm.StateSucceeded
				} else {
					submit(t, lc, "order-7")
				}
				pass(time.Second)
				in(t, lc.Client, "order-7", want)
				folder, err := lc.Folder(t.Context(), "order-7")
				require.NoError(t, err)
				require.Regexp(t, map[string]string{"A": `/order-7$`, "B": `/order-7~[0-9a-f]{16}$`}[who], folder)
				stop()
			}
		}
	})
	require.Equal(t, map[string]string{"Aorder-7": "<><A>", "Border-7": "<><B>"}, found)
}

// TestAPrunedIDFindsNoFormerHome: J11, the id is used again in the same store.
func TestAPrunedIDFindsNoFormerHome(t *testing.T) {
	dir, found := t.TempDir(), make(map[string]string)
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: diary(t, "r", found), Dir: dir})
		defer stop()
		for range 2 {
			submit(t, lc, "r")
			pass(time.Second)
			_, err := lc.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "yes"})
			require.NoError(t, err)
			pass(time.Second)
			in(t, lc.Client, "r", fsm.StateSucceeded)
			_, err = lc.Prune(t.Context(), lc.clock.Now().Add(time.Hour))
			require.NoError(t, err)
		}
	})
	require.Equal(t, "<><r><><r>", found["rr"])
}

// TestAFolderWithoutAMarkIsTheRuns: J14, a run that was parked by an earlier release goes on in its
// folder, and what a host put into a run's folder before its first turn is there.
func TestAFolderWithoutAMarkIsTheRuns(t *testing.T) {
	dir, found := t.TempDir(), make(map[string]string)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "r", "home"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "r", "home", "diary"), []byte("prepared"), 0o600))
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: diary(t, "r", found), Dir: dir})
		defer stop()
		submit(t, lc, "r")
		pass(time.Second)
		in(t, lc.Client, "r", fsm.StateWaitingUser)
		require.NoError(t, os.Remove(filepath.Join(dir, "r", markFile)))
		_, err := lc.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "yes"})
		require.NoError(t, err)
		pass(time.Second)
		in(t, lc.Client, "r", fsm.StateSucceeded)
		require.FileExists(t, filepath.Join(dir, "r", markFile))
	})
	require.Equal(t, "<prepared><r>", found["rr"])
}

// TestAMarkThatCannotBeReadFailsTheTurn: J11, and holds up nobody.
func TestAMarkThatCannotBeReadFailsTheTurn(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "r", markFile), 0o700))
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: agent{}, Dir: dir})
		defer stop()
		submit(t, lc, "r")
		synctest.Wait()
		run := in(t, lc.Client, "r", fsm.StateFailed)
		require.Equal(t, fsm.CodeWorkspaceMissing, run.Error.Code)
		require.Contains(t, run.Error.Message, "does not say whose folder it is")
	})
}
