package acp_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/acp"
	"github.com/interlude-go/interlude/engine/enginetest"
)

// grace is for agents that may ignore a cancel or TERM: a cancel that overtakes the start of its prompt
// has no effect. All others have patience, since the result depends on how they end their prompt.
const grace = time.Second

// patience bounds a wait; pause is the polling interval.
const (
	patience = time.Minute
	pause    = 2 * time.Millisecond
)

func TestMain(m *testing.M) {
	switch {
	case enginetest.IsProgram(): // only to linger
		os.Exit(enginetest.Main())
	case len(os.Args) > 1 && os.Args[1] == agentArg:
		os.Exit(agentMain())
	case len(os.Args) == 4 && os.Args[1] == hostileArg:
		os.Exit(hostileMain(os.Args[2], os.Args[3]))
	}
	if dir := os.Getenv(hostEnv); dir != "" {
		os.Exit(serveForEver(dir, os.Getenv(hostCanEnv)))
	}
	os.Exit(withAgent(m.Run))
}

// agentProgram is the program of the scripted agent: this package's tests, without the race detector,
// with which a process takes five times as long to start. The agent has a goroutine for each request
// of the library, and is not what is tested.
var agentProgram string

func withAgent(run func() int) int {
	dir, err := os.MkdirTemp("", "acp-agent-")
	if err == nil {
		agentProgram = filepath.Join(dir, "agent.exe")
		build := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-o", agentProgram, ".")
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "acp: the agent of the tests:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	return run()
}

// scripted runs the scripted agent.
func scripted(tb testing.TB, dir, can string) acp.Config {
	tb.Helper()
	return agentOf(agentProgram, dir, can)
}

// agentOf makes a program the agent; can has words of agent.can, and together=DURATION, the time to
// gather requests that the agent makes at once.
func agentOf(program, dir, can string) acp.Config {
	ends, gather := patience, time.Millisecond
	if strings.Contains(can, "stubborn") {
		ends = grace
	}
	if _, text, found := strings.Cut(can, "together="); found {
		gather, _ = time.ParseDuration(text) // written by a Duration
	}
	return acp.Config{
		Name: "scripted", Command: program, Args: []string{agentArg, "-artifacts={artifacts}", "-can=" + can},
		StateDir: filepath.Join(dir, "processes"), Grace: ends, Gather: gather,
		Set: map[string]string{"GORACE": "atexit_sleep_ms=0"}, // disables the race detector's sleep at exit
	}
}

func started(tb testing.TB, cfg acp.Config) *acp.Engine {
	tb.Helper()
	e, err := acp.New(cfg)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, e.Close()) })
	return e
}

func suite(t *testing.T, can string) {
	t.Helper()
	enginetest.Run(t, enginetest.Harness{Program: true, New: func(tb testing.TB, dir string) engine.Engine {
		tb.Helper()
		cfg := scripted(tb, dir, can)
		if strings.Contains(tb.Name(), "ignore_TERM") {
			cfg.Grace = grace
		}
		return started(tb, cfg)
	}})
}

// B1, B11, D5, E2, I2, I6, I11: an agent that loads its sessions passes the suite, with a process
// per turn. .ci/search has the suite with an agent that resumes them without replaying.
func TestAgentThatLoadsSessionsPassesTheSuite(t *testing.T) { suite(t, "load") }

// D3, D4, D6: so does an agent without either, as a resident process.
func TestResidentAgentPassesTheSuite(t *testing.T) { suite(t, "") }
