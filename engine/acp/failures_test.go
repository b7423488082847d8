package acp_test

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/acp"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/redact"
	"github.com/interlude-go/interlude/fsm"
)

// An invalid start is a clear error with its code.
func TestRunTurnSaysWhyItCannotStart(t *testing.T) {
	for name, tc := range map[string]struct {
		can    string
		change func(*acp.Config)
		turn   func(*engine.Turn)
		code   fsm.Code
		detail string
	}{
		"the program is missing": {change: func(c *acp.Config) {
			c.Command = "no-such-agent"
		}, code: fsm.CodeEngineUnavailable, detail: "no-such-agent"},
		"it speaks no protocol": {can: "broken", code: fsm.CodeEngineUnavailable, detail: "unknown flag --acp"},
		"nor when it is resident": {can: "broken", change: func(c *acp.Config) {
			c.Resident = true
		}, code: fsm.CodeEngineUnavailable, detail: "unknown flag --acp"},
		"it says nothing": {can: "silent", change: func(c *acp.Config) {
			c.StartLimit = 100 * time.Millisecond
		}, code: fsm.CodeEngineUnavailable, detail: "did not open its session in time"},
		"it speaks an older protocol": {can: "old", code: fsm.CodeEngineUnavailable, detail: "version 0"},
		"it wants to be logged in": {can: "load,login", code: fsm.CodeEngineUnavailable,
			detail: "one of its methods (door)"},
		"it refuses the login": {can: "load,login", change: func(c *acp.Config) {
			c.AuthMethod = "window"
		}, code: fsm.CodeEngineUnavailable, detail: `"window" (it offers: door)`},
		"it cannot be prepared": {change: func(c *acp.Config) {
			c.Prepare = failing
		}, code: fsm.CodeEngineUnavailable, detail: "no paper"},
		"a secret is too short": {change: func(c *acp.Config) {
			c.Env, c.Secrets = []string{"SHORT"}, []string{"SHORT"}
		}, code: fsm.CodeEngineUnavailable, detail: "SHORT"},
		"there are no folders": {turn: func(t *engine.Turn) {
			t.TranscriptDir = ""
		}, code: fsm.CodeEngineUnavailable, detail: "configure a folder for runs"},
		"I3: the workspace is missing": {turn: func(t *engine.Turn) {
			t.WorkDir = "/no/such/folder"
		}, code: fsm.CodeWorkspaceMissing, detail: "/no/such/folder"},
		"there is no session to answer": {can: "load", turn: func(t *engine.Turn) {
			t.Repair = "again"
		}, code: fsm.CodeSessionResumeFailed, detail: "no session"},
		"I4: its home is missing": {
			change: func(c *acp.Config) {
				c.Set["HOME"] = "{home}"
			}, turn: func(t *engine.Turn) { t.HomeDir = "/no/home" },
			code: fsm.CodeWorkspaceMissing, detail: "/no/home",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SHORT", "abc")
			r := newRun(t, tc.can, tc.change)
			if tc.turn != nil {
				tc.turn(&r.turn)
			}
			o, err := r.execute(t.Context(), enginetest.Script("final hello"))
			code, detail := o.Process.Code, o.Process.Detail
			var f *engine.Failure
			if errors.As(err, &f) {
				code, detail = f.Code, err.Error()
			}
			require.Equal(t, tc.code, code, "%v %v", err, o.Process)
			require.Contains(t, detail, tc.detail)
		})
	}
	require.Equal(t, "hello", newRun(t, "load,login", func(c *acp.Config) {
		c.AuthMethod = "door"
	}).does("final hello").FinalText)
}

// J2: an agent's failure text decides whether the failure is transient.
func TestOverloadedModelIsAPassingFailure(t *testing.T) {
	for text, passing := range map[string]bool{"API Error: 529 Overloaded": true, "Invalid API key": false} {
		o, err := newRun(t, "load", nil).execute(t.Context(), enginetest.Script("fail "+text))
		require.NoError(t, err)
		require.Equal(t, engine.Failed, o.Process.Status)
		require.Equal(t, fsm.CodeEngineFailed, o.Process.Code)
		require.Equal(t, passing, o.Process.Transient, o.Process.Detail)
	}
}

func failing(context.Context, engine.Turn) error { return errors.New("no paper") }

// An invalid configuration is refused with advice.
func TestNewSaysWhatIsWrongInItsConfig(t *testing.T) {
	for want, change := range map[string]func(*acp.Config){
		"needs Command":       func(c *acp.Config) { c.Command = "" },
		"AutoPermission":      func(c *acp.Config) { c.AutoPermission = "ask" },
		"must not be":         func(c *acp.Config) { c.PermissionWait = -1 },
		"{prompt}":            func(c *acp.Config) { c.Args = []string{"{prompt}"} },
		"INTERLUDE_TOKEN":     func(c *acp.Config) { c.Set = map[string]string{"INTERLUDE_TOKEN": "x"} },
		"neither Env nor Set": func(c *acp.Config) { c.Secrets = []string{"KEY"} },
	} {
		cfg := acp.Config{Command: "agent"}
		change(&cfg)
		_, err := acp.New(cfg)
		require.ErrorContains(t, err, want)
	}
	_, err := acp.New(acp.Config{Command: "agent", Set: map[string]string{"KEY": "abc"}, Secrets: []string{"KEY"}})
	require.ErrorIs(t, err, redact.ErrTooShort)
}

// E2: handles of this engine are accepted as far as known; others are refused.
func TestCheckRefusesForeignAndBrokenHandles(t *testing.T) {
	r := newRun(t, "load", nil)
	h := *r.does("ask What next?").Session
	require.Equal(t, "1.2.3", h.Version, "for people")
	require.NoError(t, r.engine.Check(t.Context(), "r1", h))
	for _, data := range []string{"", "{}", `{"session":""}`, `{"session":"a\nb"}`, `"x"`, `{"session":"` +
		strings.Repeat("x", 5<<10) + `"}`} {
		require.ErrorIs(t, r.engine.Check(t.Context(), "r1", engine.SessionHandle{Engine: "scripted",
			Data: []byte(data)}),
			engine.ErrHandleRefused)
	}
}

// I6, D3: after the turn has returned and the engine is closed, no goroutine, file or record is
// left.
func TestRunTurnLeavesNothingBehind(t *testing.T) {
	newRun(t, "load", nil).does("final warm")
	routines, files := runtime.NumGoroutine(), openFiles(t)
	for _, can := range []string{"load", ""} {
		r := newRun(t, can, func(c *acp.Config) { c.PermissionWait = time.Hour })
		limited := newRun(t, can, func(c *acp.Config) { c.TurnLimit, c.Grace = time.Second, grace })
		r.does("say one", "final ok")
		r.does(permit(removing("build")))
		r.answer("once")
		for last, r := range map[string]*run{"crash": r, "long 3000000": r, "fail away": r, "hang": limited} {
			r.turn.RunID, r.turn.Attempt, r.turn.Answers, r.turn.Session = "r-"+last[:4], 0, nil, nil
			_, err := r.execute(t.Context(), enginetest.Script("spawn child-"+last[:4], last))
			require.NoError(t, err)
		}
		for _, r := range []*run{r, limited} {
			require.NoError(t, r.engine.Close())
			records, err := os.ReadDir(strings.TrimSuffix(r.turn.HomeDir, "home") + "processes")
			require.NoError(t, err)
			require.Empty(t, records)
		}
	}
	until(t, "all goroutines and files are given back", func() bool {
		return runtime.NumGoroutine() <= routines && openFiles(t) <= files
	})
}

// openFiles counts this process's open files, where visible.
func openFiles(tb testing.TB) int {
	tb.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if os.IsNotExist(err) {
		return 0
	}
	require.NoError(tb, err)
	return len(files)
}
