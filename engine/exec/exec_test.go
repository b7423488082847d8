package exec_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/exec"
)

func TestMain(m *testing.M) {
	if enginetest.IsProgram() {
		os.Exit(enginetest.Main())
	}
	if task := os.Getenv(hostEnv); task != "" {
		os.Exit(host(task))
	}
	os.Exit(m.Run())
}

// scripted runs the suite's agent: this test binary, called again.
func scripted(tb testing.TB, dir string) exec.Config {
	tb.Helper()
	self, err := os.Executable()
	require.NoError(tb, err)
	return exec.Config{
		Name: "scripted", Version: "1", Command: self, StateDir: filepath.Join(dir, "processes"),
		Args:       enginetest.Args("{input}", "{artifacts}", "", false),
		ResumeArgs: enginetest.Args("{input}", "{artifacts}", "{session}", false),
		Rules: []exec.Rule{
			{Match: map[string]string{"type": "session"}, Do: exec.Session, Path: "id"},
			{Match: map[string]string{"type": "lost"}, Do: exec.ResumeFailed},
			{Match: map[string]string{"type": "message"}, Do: exec.Message, Path: "text"},
			{Match: map[string]string{"type": "delta"}, Do: exec.Delta, Path: "text"},
			{Match: map[string]string{"type": "final"}, Do: exec.Final, Path: "text"},
			{Match: map[string]string{"type": "output"}, Do: exec.Output, Path: "value"},
			{Match: map[string]string{"type": "failure"}, Do: exec.Failure, Path: "text"},
			{Match: map[string]string{"type": "usage"}, Do: exec.InputTokens, Path: "input"},
			{Match: map[string]string{"type": "usage"}, Do: exec.OutputTokens, Path: "output"},
			{Match: map[string]string{"type": "usage"}, Do: exec.CostUSD, Path: "cost"},
			{Match: map[string]string{"type": "turn_end"}, Do: exec.TurnEnd},
		},
		ResumeFailed: regexp.MustCompile("no such session"),
		Set:          map[string]string{"GORACE": "atexit_sleep_ms=0"}, // disables the race detector's sleep at exit
		Grace:        grace,
	}
}

// staying is the same agent, resident.
func staying(tb testing.TB, dir string) exec.Config {
	tb.Helper()
	cfg := scripted(tb, dir)
	cfg.Resident, cfg.ResumeArgs = true, nil
	cfg.Args = enginetest.Args("", "{artifacts}", "", true)
	cfg.Stdin, cfg.StdinJSON = `{"input":{input}}`, true
	return cfg
}

// secret is the value of $API_KEY, and needs escapes in JSON.
const secret = `s3cret"\/<value>`

// discreet adds a secret to a configuration, which must not change anything else.
func discreet(cfg exec.Config) exec.Config {
	cfg.Set["API_KEY"], cfg.Secrets = secret, []string{"API_KEY"}
	return cfg
}

func started(tb testing.TB, cfg exec.Config) *exec.Engine {
	tb.Helper()
	e, err := exec.New(cfg)
	require.NoError(tb, err)
	return e
}

// B1, B11, D5, E2, I2, I6, I11: one process per turn passes the suite.
func TestOneProcessPerTurnPassesTheSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Harness{Program: true, New: func(tb testing.TB, dir string) engine.Engine {
		tb.Helper()
		return started(tb, discreet(scripted(tb, dir)))
	}})
}

// D3, D4, D6: a resident process does, too.
func TestResidentProcessPassesTheSuite(t *testing.T) {
	enginetest.Run(t, enginetest.Harness{Program: true, New: func(tb testing.TB, dir string) engine.Engine {
		tb.Helper()
		return started(tb, discreet(staying(tb, dir)))
	}})
}
