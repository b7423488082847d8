package acp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/acp"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// pid returns the process number in the file.
func (r *run) pid(file string) int {
	r.Helper()
	r.await(file)
	body, err := os.ReadFile(filepath.Join(r.turn.ArtifactDir, file))
	require.NoError(r, err)
	pid, err := strconv.Atoi(string(body))
	require.NoError(r, err)
	return pid
}

// lives reports whether the process runs; a zombie does not.
func lives(pid int) bool {
	if body, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil {
		_, state, _ := bytes.Cut(body, []byte(") "))
		return !bytes.HasPrefix(state, []byte("Z"))
	}
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}

// D5: a replayed history is neither a message nor the result of the turn.
func TestReplayedHistoryIsNoMessageOfTheTurn(t *testing.T) {
	r := newRun(t, "load", nil)
	r.does("say one", "ask What next?")
	r.does("ask And then?")
	o := r.does("say two", "final three")
	require.Equal(t, "three", o.FinalText)
	require.Equal(t, []string{"one", "two"}, r.Messages())
	require.Contains(t, r.transcript(3), "an old message", "it is in the transcript")
	o = r.does()
	require.Empty(t, o.FinalText)
	require.False(t, interaction.Read(o.FinalText, o.Output).Done)
}

// E2: an agent that silently begins a new session instead of loading an unknown one is detected.
func TestLoadedSessionWithoutHistoryFails(t *testing.T) {
	r := newRun(t, "load,forget", nil)
	r.does("ask What next?")
	require.NoError(t, os.RemoveAll(r.turn.WorkDir))
	require.NoError(t, os.MkdirAll(r.turn.WorkDir, 0o750))
	_, err := r.execute(t.Context(), enginetest.Script("final who are you?"))
	require.ErrorContains(t, err, string(fsm.CodeSessionResumeFailed))
	require.ErrorContains(t, err, "history")
}

// E4: a first turn repeated after a crash resumes its session even if it is empty.
func TestFirstTurnCanBeRepeated(t *testing.T) {
	r := newRun(t, "load", func(c *acp.Config) { c.Grace = grace })
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error)
	go func() {
		_, err := r.execute(ctx, enginetest.Script("hang"))
		done <- err
	}()
	require.NoError(t, r.Await(t.Context(), func() bool { return r.Last() != nil }))
	cancel(engine.ErrShutdown)
	require.NoError(t, <-done)
	r.turn.Prompt = enginetest.Script("final at last")
	o, err := r.repeatTurn(t.Context())
	require.NoError(t, err)
	require.Equal(t, "at last", o.FinalText, o.Process.Detail)
}

// If the announced session/resume is not implemented, the session is loaded.
func TestMissingResumeMethodFallsBackToLoad(t *testing.T) {
	r := newRun(t, "load,unresumable", nil)
	r.answer("first\n" + enginetest.Script("ask What next?"))
	o := r.answer("second\n" + enginetest.Script("recall"))
	require.Equal(t, "first | second", o.FinalText)
}

// The profile follows from the announcement, is probed once, and states its reason. Only a missing
// method disproves the announcement (E2), not an agent that cannot load a session without a prompt.
func TestProfileFollowsTheAnnouncement(t *testing.T) {
	for can, want := range map[string]engine.Profile{
		"":     {Kind: fsm.ProfileStickyProcess, Reason: "Scripted 1.2.3) announces no way to resume a session"},
		"load": {Kind: fsm.ProfileResumable, Reason: "Scripted 1.2.3) announces session/load"},
		"load,resume": {Kind: fsm.ProfileResumable,
			Reason: "Scripted 1.2.3) announces session/resume and session/load"},
		"load,unloadable":  {Kind: fsm.ProfileStickyProcess, Reason: "does not know it"},
		"load,unsupported": {Kind: fsm.ProfileStickyProcess, Reason: "loadSession is not supported"},
		"unresumable":      {Kind: fsm.ProfileStickyProcess, Reason: "does not know it"},
		"load,unprompted":  {Kind: fsm.ProfileResumable, Reason: "announces session/load"},
		"load,login":       {Kind: fsm.ProfileResumable, Reason: "announces session/load, which could not be tried"},
	} {
		asked := 0
		r := newRun(t, can, func(c *acp.Config) {
			c.Prepare = func(context.Context, engine.Turn) error { asked++; return nil }
		})
		for range 3 {
			p, err := r.engine.Profile(t.Context())
			require.NoError(t, err)
			require.Equal(t, want.Kind, p.Kind, can)
			require.Contains(t, p.Reason, want.Reason)
		}
		require.Equal(t, 1, asked, can)
	}
	r := newRun(t, "load", func(c *acp.Config) { c.Resident = true })
	p, err := r.engine.Profile(t.Context())
	require.NoError(t, err)
	require.Equal(t, fsm.ProfileStickyProcess, p.Kind)
}

// E2: an unanswered probe decides nothing: the agent is probed again.
func TestProbeWithoutAnAnswerIsRepeated(t *testing.T) {
	for can, want := range map[string]fsm.Profile{
		"load,fragile":           fsm.ProfileResumable,
		"load,closed":            fsm.ProfileResumable,
		"load,closed,unloadable": fsm.ProfileStickyProcess,
	} {
		t.Run(can, func(t *testing.T) {
			open := filepath.Join(t.TempDir(), "open")
			asked := 0
			r := newRun(t, can, func(c *acp.Config) {
				c.Set[openEnv] = open
				c.Prepare = func(context.Context, engine.Turn) error { asked++; return nil }
			})
			r.engine.SetProvisional(time.Nanosecond)
			profile := func() engine.Profile {
				p, err := r.engine.Profile(t.Context())
				require.NoError(t, err)
				return p
			}
			first := profile()
			require.Equal(t, fsm.ProfileResumable, first.Kind)
			require.Contains(t, first.Reason, "could not be tried")
			require.NoError(t, os.WriteFile(open, nil, 0o600))
			for range 2 {
				p := profile()
				require.Equal(t, want, p.Kind)
				require.NotContains(t, p.Reason, "could not be tried")
			}
			require.Equal(t, 2, asked)
		})
	}
}

// Runs continue after a wait as the probe decides.
func TestRunsGoOnAsTheProbeJudges(t *testing.T) {
	for _, can := range []string{"load,unloadable", "load,unprompted"} {
		r := newRun(t, can, nil)
		r.answer("first\n" + enginetest.Script("ask What next?"))
		o := r.answer("second\n" + enginetest.Script("recall"))
		require.Equal(t, "first | second", o.FinalText)
	}
}

// Only text for the user is a message: no thoughts, plans or text of other sessions.
func TestThoughtsAndPlansAreNoMessages(t *testing.T) {
	r := newRun(t, "load", nil)
	o := r.does("say one", "thought __SKILL_DONE__", "plan __SKILL_DONE__", "elsewhere __SKILL_DONE__",
		`delta "__SKILL"`, "thought hm", "delta _DONE__")
	require.Equal(t, []string{"one"}, r.Messages())
	require.Equal(t, "__SKILL_DONE__", o.FinalText)
	require.Equal(t, engine.Usage{InputTokens: 11, OutputTokens: 7}, o.Usage)
}

// A person's answer is never a command of the agent.
func TestAnswerWithASlashIsNoCommand(t *testing.T) {
	r := newRun(t, "load", nil)
	r.does("ask What next?")
	o := r.answer(" /init\n" + enginetest.Script("recall"))
	require.Equal(t, "The input is this text, and no command: | /init", o.FinalText)
}

// The host offers no files and no terminals.
func TestClientRefusesFileRequests(t *testing.T) {
	o := newRun(t, "load", nil).does("client /etc/passwd")
	require.Contains(t, o.FinalText, "-32601")
}

// B1: a turn that stops for the agent's own reason has failed, and says why.
func TestStopReasonOtherThanEndTurnIsNoSuccess(t *testing.T) {
	for reason, want := range map[string]engine.Status{
		"max_tokens": engine.Failed, "max_turn_requests": engine.Failed, "refusal": engine.Failed,
		"cancelled": engine.Interrupted, "tired": engine.Failed,
	} {
		r := newRun(t, "load", nil)
		o, err := r.execute(t.Context(), enginetest.Script("done all is well", "stop "+reason))
		require.NoError(t, err)
		require.Equal(t, want, o.Process.Status)
		require.Contains(t, o.Process.Detail, reason)
		require.Equal(t, engine.Usage{InputTokens: 11, OutputTokens: 7}, o.Usage, "J13")
	}
}

// J13: an agent that is stopped by a timeout, an interrupt or a permission request still reports
// its usage.
func TestStoppedPromptHandsOverItsUsage(t *testing.T) {
	reported := engine.Usage{InputTokens: 11, OutputTokens: 7}
	for name, can := range map[string]string{"single": "load", "resident": ""} {
		for status, cause := range map[engine.Status]error{
			engine.TimedOut: engine.ErrTurnTimeout, engine.Interrupted: context.Canceled,
		} {
			t.Run(name+" "+string(status), func(t *testing.T) {
				r := newRun(t, can, nil)
				ctx, stop := context.WithCancelCause(t.Context())
				defer stop(nil)
				var watch sync.WaitGroup
				defer watch.Wait()
				watch.Go(func() {
					r.await("begun")
					stop(cause)
				})
				o, err := r.execute(ctx, enginetest.Script("touch begun", "hang"))
				require.NoError(t, err)
				require.Equal(t, status, o.Process.Status)
				require.Equal(t, reported, o.Usage)
			})
		}
	}
	o := newRun(t, "load", nil).does(permit(removing("build")))
	require.Len(t, o.Questions, 1)
	require.Equal(t, reported, o.Usage, "the prompt is canceled, and has used them")

	r := newRun(t, "", func(c *acp.Config) { c.PermissionWait = time.Hour }) // its prompt continues
	require.Zero(t, r.does(permit(removing("build"))).Usage)
	require.Equal(t, reported, r.answer("once").Usage)
}

// A message refers to its place in the transcript, which has every line of both directions.
func TestMessageRefersToItsTranscriptLines(t *testing.T) {
	r := newRun(t, "load", nil)
	o := r.does("say föx", "delta one", "delta two")
	body := r.transcript(1)
	at := func(ref *engine.RawRef) string {
		require.NotNil(t, ref)
		require.Equal(t, "attempt-1.out", ref.File)
		return body[ref.Offset : ref.Offset+ref.Length]
	}
	var line struct {
		Params struct {
			Update struct{ Content struct{ Text string } }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(at(r.Refs()[0])), &line))
	require.Equal(t, "föx", line.Params.Update.Content.Text)
	require.True(t, strings.HasPrefix(at(o.FinalRef), "{") && strings.HasSuffix(at(o.FinalRef), "}"))
	require.Contains(t, at(o.FinalRef), "one")
	require.Contains(t, at(o.FinalRef), "two")
	for line := range strings.Lines(body) {
		require.Regexp(t, `^[<>] \{.*\}\n$`, line)
	}
	require.Contains(t, body, `> {"jsonrpc":"2.0","id":1,"method":"initialize"`)
}

// The agent sees named or set variables and its run's marks; its secrets are visible to it only.
func TestOnlyTheAgentSeesItsSecrets(t *testing.T) {
	t.Setenv("NAMED", `swörd"fish`)
	t.Setenv("UNNAMED", "no")
	r := newRun(t, "", func(c *acp.Config) {
		c.Env, c.Secrets = []string{"NAMED", "NOT_THERE"}, []string{"NAMED", "KEY"}
		c.Set["KEY"], c.Set["HOME"] = "hunter2", "{home}"
	})
	w := removing("hunter2")
	o := r.does("args", "stderr the key is hunter2", `delta "hun"`, `delta "ter2"`, permit(w))
	require.Len(t, o.Questions, 1)
	shown, err := json.Marshal(o)
	require.NoError(t, err)
	all := string(shown) + strings.Join(r.Messages(), "\n") + string(o.Session.Data)
	require.Contains(t, all, "HOME="+r.turn.HomeDir)
	require.Contains(t, all, "INTERLUDE_RUN=r1")
	require.NotContains(t, all, "UNNAMED")
	require.Equal(t, "[redacted]", r.Messages()[1], "also in pieces")
	files, err := filepath.Glob(filepath.Join(r.turn.TranscriptDir, "*"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	for _, f := range files {
		body, err := os.ReadFile(f)
		require.NoError(t, err)
		all += string(body)
	}
	require.Contains(t, all, "the key is [redacted]")
	for _, secret := range []string{"hunter2", "swörd", "sw\\u00f6rd"} {
		require.NotContains(t, all, secret)
	}
	require.Equal(t, "rm -r hunter2: once", secretly(r.answer("once").FinalText), "the agent knows")
}

// secretly restores redacted text.
func secretly(s string) string { return strings.ReplaceAll(s, "[redacted]", "hunter2") }

// B1: a turn over the engine's limits has timed out; a flooding turn is ended and has failed.
func TestTurnBeyondItsLimitsIsEnded(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*acp.Config)
		steps  []string
		status engine.Status
		detail string
	}{
		"wall clock": {func(c *acp.Config) {
			c.TurnLimit = 300 * time.Millisecond
		}, []string{"done well", "hang"}, engine.TimedOut, "300ms"},
		"idle": {func(c *acp.Config) {
			c.IdleLimit = 400 * time.Millisecond
		}, []string{"done well", "hang"}, engine.TimedOut, "400ms"},
		"flood": {func(c *acp.Config) {
			c.MaxStream = 1 << 20
		}, []string{"done well", "long 4194304", "hang"}, engine.Failed, "1048576 bytes"},
	} {
		for _, can := range []string{"load", "load,stubborn", "", "stubborn"} {
			t.Run(name+" "+can, func(t *testing.T) {
				r := newRun(t, can, func(c *acp.Config) { c.Grace = grace; tc.change(c) })
				o, err := r.execute(t.Context(), enginetest.Script(append([]string{"pid self"}, tc.steps...)...))
				require.NoError(t, err)
				require.Equal(t, tc.status, o.Process.Status)
				require.Contains(t, o.Process.Detail, tc.detail)
				if _, err := os.Stat(filepath.Join(r.turn.ArtifactDir, "self")); err == nil { // it had come so far
					require.False(t, lives(r.pid("self")))
				}
			})
		}
	}
}

// I11: output that is too long is cut; a half message does not block.
func TestTooLongOutputIsCut(t *testing.T) {
	r := newRun(t, "load", func(c *acp.Config) { c.MaxOutput, c.MaxLine, c.MaxTranscript = 10, 64<<10, 4<<10 })
	o := r.does(`output "12345678901"`, "delta 12345678", "delta 9é", "delta 12345678")
	require.Equal(t, "123456789", o.FinalText, "no character is split")
	require.Nil(t, o.Output)
	require.Len(t, o.Diagnostics, 2)
	info, err := os.Stat(filepath.Join(r.turn.TranscriptDir, "attempt-1.out"))
	require.NoError(t, err)
	require.LessOrEqual(t, info.Size(), int64(4<<10))

	w := removing(strings.Repeat("x", 70<<10))
	w.Insistent = true
	o = r.does(permit(w), "final ok")
	require.Equal(t, "ok", o.FinalText, "its request was refused")

	failed, err := r.execute(t.Context(), enginetest.Script(`output {"x":"`+strings.Repeat("x", 70<<10)+`"}`))
	require.NoError(t, err)
	require.Equal(t, engine.Failed, failed.Process.Status)
	require.Contains(t, failed.Process.Detail, "exceeds the limit of a line")
}

// recordedNotices are notices as claude-agent-acp 0.101.0 with Claude Code 2.1.332 sent them in two
// turns: to a client that announces session.notices, and to one that does not.
var recordedNotices = map[string][]string{
	"announced": {
		`{"sessionUpdate":"notice","severity":"info","title":"UserPromptSubmit says: The disk is nearly full."}`,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hello"},"messageId":"msg_2"}`,
		`{"sessionUpdate":"notice","severity":"warning","title":"Claude reported a warning","description":` +
			`"This session isn't eligible."}`,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"bye"},"messageId":"msg_3"}`,
		`{"sessionUpdate":"notice","severity":"info","title":"Stop says: Bye from the hook."}`,
	},
	"not announced": {
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"**Notice:** UserPromptSubmit says: ` +
			`The disk is nearly full."},"_meta":{"claudeCode":{"kind":"informational","level":"notice"}}}`,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hello"},"messageId":"msg_2"}`,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"**Warning:** This session isn't ` +
			`eligible."},"_meta":{"claudeCode":{"kind":"informational","level":"warning"}}}`,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"bye"},"messageId":"msg_3"}`,
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"**Notice:** Stop says: Bye from the ` +
			`hook."},"_meta":{"claudeCode":{"kind":"informational","level":"notice"}}}`,
	},
}

// D3: a notice of the agent's program is a diagnostic, not a message of the model.
func TestNoticesAreNoMessages(t *testing.T) {
	for name, updates := range recordedNotices {
		t.Run(name, func(t *testing.T) {
			r := newRun(t, "load", nil)
			var steps []string
			for _, u := range updates {
				steps = append(steps, "update "+u)
			}
			o := r.does(steps...)
			require.Equal(t, "bye", o.FinalText)
			require.Equal(t, []string{"hello"}, r.Messages())
			require.Len(t, o.Diagnostics, 3)
			for i, part := range []string{"The disk is nearly full.", "This session isn't eligible.",
				"Bye from the hook."} {
				require.Equal(t, fsm.WarnEngineDiagnostic, o.Diagnostics[i].Code)
				require.Contains(t, o.Diagnostics[i].Detail, part)
			}
			require.Contains(t, r.transcript(1), `"session":{"notices":{}}`)
		})
	}
}

// D3: other members under these names change nothing.
func TestOtherMetaIsNoNotice(t *testing.T) {
	r := newRun(t, "load", nil)
	var steps []string
	for _, meta := range []string{`null`, `[]`, `"x"`, `{"claudeCode":"x"}`, `{"claudeCode":{"kind":7}}`,
		`{"claudeCode":{"kind":"reply"}}`} {
		steps = append(steps, `update {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"a"},"_meta":`+
			meta+`}`)
	}
	steps = append(steps, `update {"sessionUpdate":"notice","severity":7}`, `update {"sessionUpdate":"notice"}`)
	o := r.does(steps...)
	require.Equal(t, "aaaaaa", o.FinalText)
	require.Len(t, o.Diagnostics, 1)
	require.Equal(t, fsm.WarnEngineOutputMalformed, o.Diagnostics[0].Code)
}
