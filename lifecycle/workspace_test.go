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

// missing returns the turn's folders that do not exist.
func missing(t engine.Turn) (all []string) {
	for _, dir := range []string{t.WorkDir, t.ArtifactDir, t.TranscriptDir, t.HomeDir} {
		if info, err := os.Stat(dir); dir != "" && (err != nil || !info.IsDir()) {
			all = append(all, dir)
		}
	}
	return all
}

// TestPrepareFoldersMakesAHomeForTheFirstTurnOnly: H3 I3 I4, they are made for its first turn. Once
// the run has a session, what its agent worked on must be there, and is not made again.
func TestPrepareFoldersMakesAHomeForTheFirstTurnOnly(t *testing.T) {
	given := t.TempDir()
	here, err := os.Getwd()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		dir  bool
		spec Spec
		want func(base string) engine.Turn
	}{
		"none": {false, Spec{}, func(string) engine.Turn { return engine.Turn{} }},
		"of the host's": {true, Spec{}, func(base string) engine.Turn {
			return engine.Turn{WorkDir: filepath.Join(base, "work"), ArtifactDir: filepath.Join(base, "artifacts"),
				TranscriptDir: filepath.Join(base, "transcripts"), HomeDir: filepath.Join(base, "home")}
		}},
		"the caller's own": {false, Spec{WorkDir: given}, func(string) engine.Turn {
			return engine.Turn{WorkDir: given}
		}},
		"a relative one, as Submit found it": {false, Spec{WorkDir: "."}, func(string) engine.Turn {
			return engine.Turn{WorkDir: here}
		}},
		"both": {true, Spec{WorkDir: given}, func(base string) engine.Turn {
			return engine.Turn{WorkDir: given, ArtifactDir: filepath.Join(base, "artifacts"),
				TranscriptDir: filepath.Join(base, "transcripts"), HomeDir: filepath.Join(base, "home")}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			host := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				cfg := Config{Store: newStore(t)}
				if c.dir {
					cfg.Dir = host
				}
				var turns []engine.Turn
				var lacks [][]string
				cfg.Engine = agent{turn: func(_ context.Context, turn engine.Turn) (engine.Outcome, error) {
					turns, lacks = append(turns, turn), append(lacks, missing(turn))
					if turn.Attempt < 3 {
						return asking("?"), nil
					}
					return finished(), nil
				}}
				lc, stop := serve(t, cfg)
				base := filepath.Join(host, "r")
				c.spec.ID, c.spec.Prompt = "r", "x"
				_, err := lc.Submit(t.Context(), c.spec)
				require.NoError(t, err)
				for id := 1; id <= 2; id++ {
					pass(time.Second)
					in(t, lc.Client, "r", fsm.StateWaitingUser)
					if id == 2 {
						require.NoError(t, os.RemoveAll(filepath.Join(base, "home")))
						require.NoError(t, os.RemoveAll(filepath.Join(base, "artifacts")))
					}
					_, err = lc.Reply(t.Context(), "r", interaction.Reply{ID: id, Text: "yes"})
					require.NoError(t, err)
				}
				pass(time.Second)
				in(t, lc.Client, "r", fsm.StateSucceeded)
				require.Len(t, turns, 3)
				for i, turn := range turns {
					want := c.want(base)
					require.Equal(t, []string{want.WorkDir, want.ArtifactDir, want.TranscriptDir, want.HomeDir},
						[]string{turn.WorkDir, turn.ArtifactDir, turn.TranscriptDir, turn.HomeDir})
					if i == 2 && c.dir {
						require.Equal(t, []string{turn.HomeDir}, lacks[i], "what an agent keeps at home cannot be "+
							"made again")
					} else {
						require.Empty(t, lacks[i])
					}
				}
				stop()
			})
		})
	}
}

// TestPrepareFoldersRefusesALink: J11, nothing is made or written where it leads, also in a
// later turn.
func TestPrepareFoldersRefusesALink(t *testing.T) {
	for _, at := range []string{"r", "r/work", "r/artifacts", "r/transcripts", "r/home"} {
		t.Run(at, func(t *testing.T) {
			dir, elsewhere := t.TempDir(), t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, at)), 0o700))
			require.NoError(t, os.Symlink(elsewhere, filepath.Join(dir, at)))
			synctest.Test(t, func(t *testing.T) {
				lc, stop := serve(t, Config{Store: newStore(t), Engine: agent{}, Dir: dir})
				submit(t, lc, "r")
				synctest.Wait()
				run := in(t, lc.Client, "r", fsm.StateFailed)
				require.Equal(t, fsm.CodeWorkspaceMissing, run.Error.Code)
				require.Contains(t, run.Error.Message, filepath.Join(dir, at)+" is not a folder")
				stop()
			})
			left, err := os.ReadDir(elsewhere)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// TestPrepareFoldersRefusesAFile: I3, and says which.
func TestPrepareFoldersRefusesAFile(t *testing.T) {
	for _, at := range []string{"r", "r/work", "r/artifacts", "r/transcripts", "r/home"} {
		t.Run(at, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, at)), 0o750))
			require.NoError(t, os.WriteFile(filepath.Join(dir, at), nil, 0o600))
			synctest.Test(t, func(t *testing.T) {
				lc, stop := serve(t, Config{Store: newStore(t), Engine: agent{}, Dir: dir})
				submit(t, lc, "r")
				synctest.Wait()
				run := in(t, lc.Client, "r", fsm.StateFailed)
				require.Equal(t, fsm.CodeWorkspaceMissing, run.Error.Code)
				require.Contains(t, run.Error.Message, "workspace: ")
				require.Contains(t, run.Error.Message, filepath.Join(dir, at))
				stop()
			})
		})
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: agent{}})
		_, err := lc.Submit(t.Context(), Spec{ID: "r", Prompt: "x", WorkDir: file})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, "workspace: "+file+" is not a folder", in(t, lc.Client, "r", fsm.StateFailed).Error.Message)
		stop()
	})
}

// diary is an agent that asks once, and records which run and turn was in its home before; the
// answers come back as its findings.
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

// TestFolderIsNotSharedByTwoStores: J11, with one Config.Dir and runs with the same id. Each run
// continues in its own folder, also after a restart.
func TestFolderIsNotSharedByTwoStores(t *testing.T) {
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

// TestFolderOfAPrunedRunIsNotReused: J11, the id is used again in the same store.
func TestFolderOfAPrunedRunIsNotReused(t *testing.T) {
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
			_, err = lc.Prune(t.Context(), lc.proc.Clock.Now().Add(time.Hour))
			require.NoError(t, err)
		}
	})
	require.Equal(t, "<><r><><r>", found["rr"])
}

// TestFolderWithoutOwnerBecomesTheRuns: J14, a run that was parked by an earlier release continues
// in its folder, and files that a host put into a run's folder before its first turn are there.
func TestFolderWithoutOwnerBecomesTheRuns(t *testing.T) {
	dir, found := t.TempDir(), make(map[string]string)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "r", "home"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "r", "home", "diary"), []byte("prepared"), 0o600))
	synctest.Test(t, func(t *testing.T) {
		lc, stop := serve(t, Config{Store: newStore(t), Engine: diary(t, "r", found), Dir: dir})
		defer stop()
		submit(t, lc, "r")
		pass(time.Second)
		in(t, lc.Client, "r", fsm.StateWaitingUser)
		require.NoError(t, os.Remove(filepath.Join(dir, "r", "run.json")))
		_, err := lc.Reply(t.Context(), "r", interaction.Reply{ID: 1, Text: "yes"})
		require.NoError(t, err)
		pass(time.Second)
		in(t, lc.Client, "r", fsm.StateSucceeded)
		require.FileExists(t, filepath.Join(dir, "r", "run.json"))
	})
	require.Equal(t, "<prepared><r>", found["rr"])
}

// TestFolderWithUnreadableOwnerFailsTheTurn: J11, and delays no others.
func TestFolderWithUnreadableOwnerFailsTheTurn(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "r", "run.json"), 0o700))
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
