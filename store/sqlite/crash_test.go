package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/sqlite"
)

// The child is this test program again: a host with the library on the file.
const (
	envFile = "INTERLUDE_TEST_FILE" // run as the host on this file
	envDie  = "INTERLUDE_TEST_DIE"  // kill -9 right after the event with this number was stored
	envRuns = "INTERLUDE_TEST_RUNS" // how many runs
)

func TestMain(m *testing.M) {
	if enginetest.IsProgram() {
		os.Exit(enginetest.Main())
	}
	if dir := os.Getenv(envOrphans); dir != "" {
		if err := orphanHost(dir); err != nil {
			fmt.Fprintln(os.Stderr, "host:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if path := os.Getenv(envPoison); path != "" {
		fmt.Fprintln(os.Stderr, "host:", poisonedHost(path))
		os.Exit(1)
	}
	if path := os.Getenv(envUpgrade); path != "" {
		if err := upgradeAndDie(path); err != nil {
			fmt.Fprintln(os.Stderr, "host:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if path := os.Getenv(envRestored); path != "" {
		fmt.Fprintln(os.Stderr, "host:", sqlite.RestoredBut(context.Background(), path, func() {
			killSelf()
			select {}
		}))
		os.Exit(1)
	}
	if path := os.Getenv(envHeld); path != "" {
		fmt.Fprintln(os.Stderr, "host:", holdOpen(path))
		os.Exit(1)
	}
	if path := os.Getenv(envAlone); path != "" {
		if err := useAlone(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if path := os.Getenv(envFile); path != "" {
		if err := host(path); err != nil {
			fmt.Fprintln(os.Stderr, "host:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if sample.Raced(2) > 1 { // sequences of one goroutine; .ci/search runs many more
		if err := flag.Set("rapid.checks", "25"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// host submits runs that ask one question each, answers them, and ends when all have ended. After a
// restart it continues.
func host(path string) error {
	ctx := context.Background()
	runs, _ := strconv.Atoi(os.Getenv(envRuns))
	die, _ := strconv.Atoi(os.Getenv(envDie))
	executed, err := os.OpenFile(path+".executed", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	agent := engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		answer := ""
		if len(t.Answers) > 0 {
			answer = t.Answers[0].Text
		}
		if _, err := fmt.Fprintf(executed, "%s %d %q\n", t.RunID, t.Attempt, answer); err != nil {
			return engine.Outcome{}, err
		}
		if answer == "" {
			return engine.Ask(interaction.Question{Kind: interaction.Confirm, Prompt: "Go on?"}), nil
		}
		return engine.Done("answered: " + answer), nil
	})
	files, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return err
	}
	defer files.Close()
	lc, err := lifecycle.New(lifecycle.Config{
		Store: &noisy{Store: files, die: die}, Engine: agent, Poll: 50 * time.Millisecond,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- lc.Serve(serving) }()
	var all sync.WaitGroup
	failed := make(chan error, runs)
	for i := range runs {
		all.Go(func() { failed <- drive(ctx, lc, fmt.Sprintf("run-%d", i)) })
	}
	all.Wait()
	close(failed)
	for e := range failed {
		err = errors.Join(err, e)
	}
	stop()
	return errors.Join(err, <-served)
}

// drive submits one run and answers it.
func drive(ctx context.Context, lc *lifecycle.Lifecycle, id string) error {
	if _, err := lc.Submit(ctx, lifecycle.Spec{ID: id, Prompt: "x", Repeatable: true}); err != nil {
		return err
	}
	for e, err := range lc.Events(ctx, id, 0) {
		if err != nil {
			return err
		}
		if e.Type != fcmp.TypeInputRequired {
			continue
		}
		if _, err := lc.Reply(ctx, id, interaction.Reply{ID: 1, Text: "yes", Key: "the-key"}); err != nil {
			return err
		}
	}
	return nil
}

// noisy is a store that reports to the parent before and after each write, and may kill its
// process.
type noisy struct {
	*sqlite.Store
	die     int
	reports atomic.Int64
}

func (n *noisy) report() { fmt.Println(n.reports.Add(1)) }

func (n *noisy) Commit(ctx context.Context, batch []store.Commit) []error {
	n.report()
	errs := n.Store.Commit(ctx, batch)
	for i, c := range batch {
		if errs[i] == nil {
			n.mayDie(c)
		}
	}
	n.report()
	return errs
}

func (n *noisy) Claim(ctx context.Context, req store.ClaimRequest) ([]store.Claimed, error) {
	var made []store.Commit
	start := req.Start
	req.Start = func(r store.Run, spec []byte) (store.Commit, error) {
		c, err := start(r, spec)
		made = append(made, c)
		return c, err
	}
	n.report()
	claimed, err := n.Store.Claim(ctx, req)
	if err == nil && len(claimed) > 0 {
		for _, c := range made {
			n.mayDie(c)
		}
	}
	n.report()
	return claimed, err
}

func (n *noisy) mayDie(c store.Commit) {
	for _, e := range c.Events {
		if n.die > 0 && int(e.Seq) == n.die {
			p, _ := os.FindProcess(os.Getpid())
			_ = p.Kill()
			select {}
		}
	}
}

// child starts the host in a separate process.
func child(ctx context.Context, path string, runs, die int) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	// The race detector waits for a second at exit, for other threads to report; nothing is left to
	// report here.
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", envFile+"="+path, envRuns+"="+strconv.Itoa(runs),
		envDie+"="+strconv.Itoa(die))
	return cmd
}

// finish starts the host again, lets it end in order, and checks the result.
func finish(t *testing.T, path string, runs int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := child(ctx, path, runs, 0).CombinedOutput()
	require.NoError(t, err, "%s", out)
	s, err := sqlite.Open(t.Context(), path, quiet)
	require.NoError(t, err)
	defer s.Close()
	executed, err := os.ReadFile(path + ".executed")
	require.NoError(t, err)
	for i := range runs {
		checkRun(t, s, fmt.Sprintf("run-%d", i), string(executed))
	}
	pools, err := s.Pools(t.Context())
	require.NoError(t, err)
	for _, p := range pools {
		require.Zero(t, p.Held, "no slot is held when all has ended")
	}
}

// checkRun: one question, one accepted reply, executed; the log keeps every invariant.
func checkRun(t *testing.T, s *sqlite.Store, id, executed string) {
	t.Helper()
	run, err := s.Run(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, fsm.StateSucceeded, run.State, "%+v", run.Error)
	require.Contains(t, run.FinalText, "answered: yes")
	require.Equal(t, 1, run.Interactions)
	stored, err := s.Events(t.Context(), id, 0, 1000)
	require.NoError(t, err)
	var log bytes.Buffer
	accepted, started, requeued := 0, 0, 0
	for _, e := range stored {
		log.Write(append(e.Body, '\n'))
		event, err := fcmp.Decode(e.Body)
		require.NoError(t, err)
		var c fcmp.StateChanged
		_ = event.Decode(&c)
		switch {
		case event.Type == fcmp.TypeReplyAccepted:
			accepted++
		case accepted > 0 && c.Trigger == string(fsm.EventTurnStarted):
			started++
		case accepted > 0 && c.Trigger == string(fsm.EventRestartRequeue):
			requeued++
		}
	}
	report, err := audit.Check(&log)
	require.NoError(t, err)
	require.Nil(t, report.First())
	require.Equal(t, 1, accepted, "the reply was accepted once")
	require.Equal(t, 1+requeued, started, "and executed once, but for turns that were interrupted themselves")
	times := 0
	for line := range strings.Lines(executed) {
		if strings.HasPrefix(line, id+" ") && strings.HasSuffix(line, "\"yes\"\n") {
			times++
		}
	}
	require.GreaterOrEqual(t, times, 1, "an accepted reply is never lost")
	require.LessOrEqual(t, times, 1+requeued)
}

// I9: the process is killed right after each event of a run with one question; after the restart
// the reply is executed, once.
func TestRecoveryAfterKillAtEveryEvent(t *testing.T) {
	const events = 9 // a run with one question has nine
	for n := 1; n <= events; n++ {
		t.Run(fmt.Sprintf("I9/event %d", n), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "runs.db")
			err := child(t.Context(), path, 1, n).Run()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit, "the host lives on after event %d", n)
			require.Equal(t, -1, exit.ExitCode(), "killed")
			finish(t, path, 1)
		})
	}
}
