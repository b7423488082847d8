package enginetest_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/exec"
	"github.com/interlude-go/interlude/engine/internal/modelagent"
	"github.com/interlude-go/interlude/engine/modeltest"
)

func TestMain(m *testing.M) {
	if modelagent.IsProgram() {
		os.Exit(modelagent.Main())
	}
	os.Exit(m.Run())
}

// tiny is an agent that asks the model in the given protocol.
func tiny(tb testing.TB, model *modeltest.Server, api modeltest.API, dir string) exec.Config {
	tb.Helper()
	self, err := os.Executable()
	require.NoError(tb, err)
	return exec.Config{
		Name: "tiny", Version: "1", Command: self, StateDir: filepath.Join(dir, "processes"),
		Args:       modelagent.Args(api, model.URL, "{input}", "", false),
		ResumeArgs: modelagent.Args(api, model.URL, "{input}", "{session}", false),
		Rules: []exec.Rule{
			{Match: map[string]string{"type": "session"}, Do: exec.Session, Path: "text"},
			{Match: map[string]string{"type": "lost"}, Do: exec.ResumeFailed},
			{Match: map[string]string{"type": "message"}, Do: exec.Message, Path: "text"},
			{Match: map[string]string{"type": "final"}, Do: exec.Final, Path: "text"},
			{Match: map[string]string{"type": "failure"}, Do: exec.Failure, Path: "text"},
			{Match: map[string]string{"type": "turn_end"}, Do: exec.TurnEnd},
		},
		Set:   map[string]string{"GORACE": "atexit_sleep_ms=0"}, // disables the race detector's sleep at exit
		Grace: 200 * time.Millisecond,
	}
}

// proven runs the suite with an agent that asks a model.
func proven(t *testing.T, api modeltest.API, change func(cfg *exec.Config, url string)) {
	t.Helper()
	model, err := modeltest.Start(modeltest.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, model.Close()) })
	enginetest.Run(t, enginetest.Harness{Model: model, New: func(tb testing.TB, dir string) engine.Engine {
		tb.Helper()
		cfg := tiny(tb, model, api, dir)
		change(&cfg, model.URL)
		e, err := exec.New(cfg)
		require.NoError(tb, err)
		return e
	}})
}

// D5, E4: an engine whose agent asks a model passes the suite in each protocol.
func TestAgentOfAModelPassesTheSuite(t *testing.T) {
	for _, api := range []modeltest.API{modeltest.Responses, modeltest.Chat, modeltest.Messages, modeltest.Gemini} {
		t.Run(string(api), func(t *testing.T) { proven(t, api, func(*exec.Config, string) {}) })
	}
}

// D3, D6: a resident agent, too.
func TestResidentAgentOfAModelPassesTheSuite(t *testing.T) {
	proven(t, modeltest.Messages, func(cfg *exec.Config, url string) {
		cfg.Resident, cfg.ResumeArgs = true, nil
		cfg.Args = modelagent.Args(modeltest.Messages, url, "", "", true)
		cfg.Stdin, cfg.StdinJSON = `{"input":{input}}`, true
	})
}
