package sqlite_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	agents "github.com/interlude-go/interlude/engine/exec"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store/sqlite"
)

// atATime is how many runs there are that have not ended.
const atATime = 12

// envOrphans makes this program a host of agents that are child processes, in the folder, until its
// input ends.
const envOrphans = "INTERLUDE_TEST_ORPHANS"

// orphanHost is that host.
func orphanHost(dir string) error {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its parent closes it, or has died
		cancel()
	}()
	s, err := sqlite.Open(context.Background(), filepath.Join(dir, "runs.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	cfg, err := orphanConfig(dir, s)
	if err != nil {
		return err
	}
	lc, err := lifecycle.New(cfg)
	if err != nil {
		return err
	}
	return lc.Serve(ctx)
}

// orphanConfig runs the suite's agent: this program, called again, as a process a turn and as a
// resident one.
func orphanConfig(dir string, s *sqlite.Store) (lifecycle.Config, error) {
	self, err := os.Executable()
	if err != nil {
		return lifecycle.Config{}, err
	}
	rule := func(kind string, do agents.Action, path string) agents.Rule {
		return agents.Rule{Match: map[string]string{"type": kind}, Do: do, Path: path}
	}
	single := agents.Config{
		Name: "single", Command: self, StateDir: filepath.Join(dir, "processes"), Grace: 100 * time.Millisecond,
		Args: enginetest.Args("{input}", "{artifacts}", "", false), ResumeArgs: enginetest.Args("{input}",
			"{artifacts}", "{session}", false),
		Set: map[string]string{"GORACE": "atexit_sleep_ms=0", "ORPHANS": dir},
		Rules: []agents.Rule{
			rule("session", agents.Session, "id"), rule("lost", agents.ResumeFailed, ""),
			rule("message", agents.Message, "text"),
			rule("final", agents.Final, "text"), rule("turn_end", agents.TurnEnd, ""),
		},
	}
	resident := single
	resident.Name, resident.Resident, resident.ResumeArgs = "resident", true, nil
	resident.Args = enginetest.Args("", "{artifacts}", "", true)
	resident.Stdin, resident.StdinJSON = `{"input":{input}}`, true
	one, err := agents.New(single)
	if err != nil {
		return lifecycle.Config{}, err
	}
	other, err := agents.New(resident)
	if err != nil {
		return lifecycle.Config{}, err
	}
	return lifecycle.Config{
		Store: s, Dir: filepath.Join(dir, "runs"), Engine: one, Engines: map[string]engine.Engine{"single": one,
			"resident": other},
		Poll: 50 * time.Millisecond, Pools: []slots.Pool{{Name: slots.DefaultPool, Capacity: atATime}},
		Logger: slog.New(slog.DiscardHandler),
	}, nil
}
