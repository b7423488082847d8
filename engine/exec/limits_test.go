package exec_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/exec"
	"github.com/interlude-go/interlude/fsm"
)

func job(tb testing.TB, steps ...string) engine.Turn {
	tb.Helper()
	dir := tb.TempDir()
	t := engine.Turn{
		RunID: "r1", Attempt: 1, Epoch: 1, Mode: fsm.ModeInteractive, Prompt: enginetest.Script(steps...),
		WorkDir: filepath.Join(dir, "work"), ArtifactDir: filepath.Join(dir, "artifacts"),
		TranscriptDir: filepath.Join(dir, "transcripts"),
	}
	for _, d := range []string{t.WorkDir, t.ArtifactDir, t.TranscriptDir} {
		require.NoError(tb, os.MkdirAll(d, 0o750))
	}
	return t
}

func scriptedWith(tb testing.TB, change func(*exec.Config)) *exec.Engine {
	tb.Helper()
	cfg := scripted(tb, tb.TempDir())
	change(&cfg)
	return started(tb, cfg)
}

// B1: a turn over the engine's limits has timed out, even if it said that it is done.
func TestTurnBeyondItsLimitsTimesOut(t *testing.T) {
	for name, change := range map[string]func(*exec.Config){
		"wall clock": func(c *exec.Config) { c.TurnLimit = 300 * time.Millisecond },
		"idle":       func(c *exec.Config) { c.IdleLimit = 300 * time.Millisecond },
	} {
		t.Run(name, func(t *testing.T) {
			o, err := scriptedWith(t, change).RunTurn(t.Context(), job(t, "done all is well", "hang"),
				&enginetest.Recorder{})
			require.NoError(t, err)
			require.Equal(t, engine.TimedOut, o.Process.Status)
			require.Equal(t, fsm.CodeTurnTimeout, o.Process.Code)
			require.Contains(t, o.Process.Detail, "300ms")
		})
	}
}

type reacting struct {
	enginetest.Recorder

	react func() error
}

func (r *reacting) Message(context.Context, engine.Message) error { return r.react() }

// J13: the outcome has the reported tokens, however the turn ends.
func TestFailedTurnHandsOverItsUsage(t *testing.T) {
	reports := `raw "{\"type\":\"usage\",\"input\":11,\"output\":7,\"cost\":0.25}\n"`
	used := engine.Usage{InputTokens: 11, OutputTokens: 7, CostUSD: 0.25}
	refused, endless := errors.New("no room"), []string{"say one", "say two", "hang"}
	for name, tc := range map[string]struct {
		steps []string
		cause error // ends the turn at its first message
		want  engine.Status
	}{
		"it exits":             {steps: []string{"exit 3"}, want: engine.Failed},
		"it is killed":         {steps: []string{"crash"}, want: engine.Interrupted},
		"its time is over":     {steps: endless, cause: engine.ErrTurnTimeout, want: engine.TimedOut},
		"it is interrupted":    {steps: endless, cause: context.Canceled, want: engine.Interrupted},
		"its host has no room": {steps: endless},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancelCause(t.Context())
			defer stop(nil)
			s := &reacting{react: func() error {
				if tc.cause == nil {
					return refused
				}
				stop(tc.cause)
				return nil
			}}
			turn := job(t, append([]string{reports}, tc.steps...)...)
			o, err := scriptedWith(t, func(*exec.Config) {}).RunTurn(ctx, turn, s)
			if tc.want == "" {
				require.ErrorIs(t, err, refused)
			} else {
				require.NoError(t, err)
				require.Equal(t, tc.want, o.Process.Status, o.Process.Detail)
			}
			require.Equal(t, used, o.Usage)
		})
	}
}

// I11: an agent that floods its output is ended, and its turn fails with a clear text.
func TestAgentThatExceedsMaxStreamIsEnded(t *testing.T) {
	e := scriptedWith(t, func(c *exec.Config) { c.MaxStream, c.MaxTranscript = 1<<20, 100<<10 })
	turn := job(t, "done all is well", "long 8388608", "hang")
	o, err := e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, engine.Failed, o.Process.Status)
	require.Contains(t, o.Process.Detail, "1048576 bytes")
	require.Equal(t, fsm.WarnEngineOutputTruncated, o.Diagnostics[0].Code)
	info, err := os.Stat(filepath.Join(turn.TranscriptDir, "attempt-1.out"))
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(100<<10))
}

// A process that lingers after its turn's end is ended, and the turn counts.
func TestLingeringProcessIsEndedAfterItsTurn(t *testing.T) {
	o, err := scriptedWith(t, func(*exec.Config) {}).RunTurn(t.Context(), job(t, "final ok",
		`raw "{\"type\":\"turn_end\"}\n"`, "ignoreterm", "hang"), &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, engine.OK, o.Process.Status, o.Process.Detail)
	require.Equal(t, "ok", o.FinalText)
}

// I6: a turn can be canceled even if the agent has closed its output and continues.
func TestTurnLimitHoldsAfterTheOutputIsClosed(t *testing.T) {
	cfg := exec.Config{
		Command: "sh", Args: []string{"-c", `exec >/dev/null 2>&1; sleep 1000`}, Grace: grace,
		Rules: []exec.Rule{{Do: exec.Final, Path: "text"}}, Env: []string{"PATH"}, StateDir: t.TempDir(),
		TurnLimit: 200 * time.Millisecond,
	}
	o, err := started(t, cfg).RunTurn(t.Context(), job(t), &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, engine.TimedOut, o.Process.Status)
}

// A message refers to its exact bytes in the transcript.
func TestMessageRefersToItsTranscriptLine(t *testing.T) {
	var told enginetest.Recorder
	turn := job(t, "say föx", "stderr a word aside", "say two", "final three")
	o, err := scriptedWith(t, func(*exec.Config) {}).RunTurn(t.Context(), turn, &told)
	require.NoError(t, err)
	for i, ref := range append(told.Refs(), o.FinalRef) {
		require.NotNil(t, ref)
		body, err := os.ReadFile(filepath.Join(turn.TranscriptDir, ref.File))
		require.NoError(t, err)
		var line struct{ Text string }
		require.NoError(t, json.Unmarshal(body[ref.Offset:ref.Offset+ref.Length], &line))
		require.Equal(t, []string{"föx", "two", "three"}[i], line.Text)
	}
	aside, err := os.ReadFile(filepath.Join(turn.TranscriptDir, "attempt-1.err"))
	require.NoError(t, err)
	require.Equal(t, "a word aside\n", string(aside))

	turn.Session, turn.Repair = o.Session, enginetest.Script("final four") // another round of the same attempt
	again, err := scriptedWith(t, func(*exec.Config) {}).RunTurn(t.Context(), turn, &told)
	require.NoError(t, err)
	body, err := os.ReadFile(filepath.Join(turn.TranscriptDir, again.FinalRef.File))
	require.NoError(t, err)
	require.Contains(t, string(body[again.FinalRef.Offset:again.FinalRef.Offset+again.FinalRef.Length]), `"four"`)
	require.Equal(t, engine.Usage{InputTokens: 11, OutputTokens: 7, CostUSD: 0.25}, o.Usage)
}

// The agent sees only named or set variables, its run's marks and its own temporary folder.
func TestAgentSeesOnlyNamedVariables(t *testing.T) {
	t.Setenv("NAMED", "yes")
	t.Setenv("UNNAMED", "no")
	e := scriptedWith(t, func(c *exec.Config) {
		c.Env = []string{"NAMED", "NOT_THERE"}
		c.Set = map[string]string{"HOME": "{workdir}/home", "RUN": "{run}/{attempt}/{mode}"}
	})
	turn := job(t, "args")
	turn.HomeDir = t.TempDir()
	o, err := e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
	require.NoError(t, err)
	var seen struct{ Env []string }
	require.NoError(t, json.Unmarshal([]byte(o.FinalText), &seen))
	var names []string
	for _, v := range seen.Env {
		name, _, _ := strings.Cut(v, "=")
		names = append(names, name)
	}
	require.ElementsMatch(t, []string{"NAMED", "HOME", "RUN", "TMPDIR", "INTERLUDE_RUN", "INTERLUDE_TOKEN"}, names)
	require.Contains(t, seen.Env, "HOME="+turn.WorkDir+"/home")
	require.Contains(t, seen.Env, "RUN=r1/1/interactive")
	require.Contains(t, seen.Env, "INTERLUDE_RUN=r1")
}

// The input can come on standard input, of any length, whether or not the agent reads it.
func TestStdinCarriesTheInput(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	cfg := exec.Config{Command: "cat", Stdin: "{input}", Format: exec.Text, Env: []string{"PATH"},
		StateDir: t.TempDir()}
	turn := job(t)
	turn.Prompt = "--help\n" + long
	o, err := started(t, cfg).RunTurn(t.Context(), turn, &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, engine.OK, o.Process.Status, o.Process.Detail)
	require.Equal(t, turn.Prompt+"\n", o.FinalText)

	cfg.Command, cfg.Args = "true", []string{"ignored"}
	o, err = started(t, cfg).RunTurn(t.Context(), turn, &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, engine.OK, o.Process.Status, o.Process.Detail)
}

// An agent that reads all of its input before it starts gets an end of file.
func TestAgentWithoutStdinReadsAnEmptyInput(t *testing.T) {
	cfg := exec.Config{Command: "sh", Args: []string{"-c", "cat; echo read"}, Format: exec.Text, Env: []string{"PATH"},
		StateDir: t.TempDir()}
	o, err := started(t, cfg).RunTurn(t.Context(), job(t), &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, "read\n", o.FinalText)
}

// A failed start is a clear error with its code.
func TestRunTurnSaysWhyItCannotStart(t *testing.T) {
	for name, tc := range map[string]struct {
		cfg    func(*exec.Config)
		turn   func(*engine.Turn)
		code   fsm.Code
		detail string
	}{
		"the program is missing": {
			cfg: func(c *exec.Config) {
				c.Command = "no-such-agent"
			}, code: fsm.CodeEngineUnavailable, detail: "no-such-agent",
		},
		"the program cannot be executed": {
			cfg: func(c *exec.Config) {
				c.Command = "/etc/passwd"
			}, code: fsm.CodeEngineUnavailable, detail: "permission denied",
		},
		"the lifecycle has no folder": {
			turn: func(t *engine.Turn) {
				t.WorkDir = ""
			}, code: fsm.CodeEngineUnavailable, detail: "configure a folder for runs",
		},
		"I3: the workspace is missing": {
			turn: func(t *engine.Turn) {
				t.WorkDir = "/no/such/folder"
			}, code: fsm.CodeWorkspaceMissing, detail: "/no/such/folder",
		},
		"the input is too long for an argument": {
			turn: func(t *engine.Turn) {
				t.Prompt = strings.Repeat("x", 8<<20)
			}, code: fsm.CodeEngineFailed, detail: "read it from standard input",
		},
		"there is no session to give the answer to": {
			turn: func(t *engine.Turn) {
				t.Answers = answered("yes")
			}, code: fsm.CodeSessionResumeFailed, detail: "no session",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, turn := scripted(t, t.TempDir()), job(t, "final ok")
			if tc.cfg != nil {
				tc.cfg(&cfg)
			}
			if tc.turn != nil {
				tc.turn(&turn)
			}
			_, err := started(t, cfg).RunTurn(t.Context(), turn, &enginetest.Recorder{})
			var f *engine.Failure
			require.ErrorAs(t, err, &f)
			require.Equal(t, tc.code, f.Code)
			require.ErrorContains(t, err, tc.detail)
			records, err := filepath.Glob(filepath.Join(cfg.StateDir, "*"))
			require.NoError(t, err)
			require.Empty(t, records, "nothing is left to be reaped")
		})
	}
}

// A profile is probed: it describes the installed agent, or says that it is missing.
func TestProfileDescribesTheInstalledAgent(t *testing.T) {
	cfg := scripted(t, t.TempDir())
	p, err := started(t, cfg).Profile(t.Context())
	require.NoError(t, err)
	require.Equal(t, fsm.ProfileResumable, p.Kind)
	require.Contains(t, p.Reason, cfg.Command)

	cfg.ResumeArgs = nil
	p, err = started(t, cfg).Profile(t.Context())
	require.NoError(t, err)
	require.Contains(t, p.Reason, "without a way to resume a session")

	p, err = started(t, staying(t, t.TempDir())).Profile(t.Context())
	require.NoError(t, err)
	require.Equal(t, fsm.ProfileStickyProcess, p.Kind)

	cfg.Command = "no-such-agent"
	_, err = started(t, cfg).Profile(t.Context())
	var f *engine.Failure
	require.ErrorAs(t, err, &f)
	require.Equal(t, fsm.CodeEngineUnavailable, f.Code)
}

// B11: an agent that cannot be resumed returns no handle, so no run waits for it.
func TestAgentWithoutResumeArgsGetsNoHandle(t *testing.T) {
	var told enginetest.Recorder
	o, err := scriptedWith(t, func(c *exec.Config) {
		c.ResumeArgs = nil
	}).RunTurn(t.Context(), job(t, "ask May I?"), &told)
	require.NoError(t, err)
	require.Nil(t, o.Session)
	require.Nil(t, told.Last())
}

// E2: the error output of a failed resumed turn can say that the session is gone.
func TestErrorOutputCanSayThatTheSessionIsLost(t *testing.T) {
	e := scriptedWith(t, func(c *exec.Config) { c.Rules = c.Rules[2:] }) // no rule matches
	turn := job(t, "final ok")
	turn.Session = &engine.SessionHandle{Engine: "scripted", Data: []byte(`"gone"`)}
	o, err := e.RunTurn(t.Context(), turn, &enginetest.Recorder{})
	require.NoError(t, err)
	require.Equal(t, fsm.CodeSessionResumeFailed, o.Process.Code)
}
