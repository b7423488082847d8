//go:build linux

package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/sample"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/sqlite"
)

// kills is the number of kills: all in .ci/search, and fewer under the race detector in .ci/run.
var kills = 200 / sample.Raced(10)

// E7, I6, I9: hosts and agents are killed many times at random moments, while agents start children
// that ignore TERM, and some that leave their group. In the end every run has come to its end, and
// no process of any is left.
func TestNoProcessIsLeftAndNoRunIsStuck(t *testing.T) {
	c := newHostWorld(t)
	c.start()
	people, gone := context.WithCancel(t.Context())
	var answering sync.WaitGroup
	answering.Go(func() { c.answer(people) })
	hosts, agents := 0, 0
	for hosts+agents < kills {
		for c.open() < atATime {
			c.submit()
		}
		c.pause(time.Duration(c.dice.IntN(150)) * time.Millisecond)
		if c.dice.IntN(3) == 0 && c.killAgent() {
			agents++
			continue
		}
		hosts++
		c.kill()
		c.start()
	}
	require.Eventually(t, func() bool { return c.open() == 0 }, 2*time.Minute, 20*time.Millisecond, "a run is stuck")
	gone()
	answering.Wait()
	c.cleaned() // a host killed between the end of a run and its process's left both, and no orphan
	c.leave()
	require.Empty(t, c.records())
	require.Empty(t, processesOf(t, c.mine), "a process of a run is left")
	c.judge(hosts, agents)
}

// E7, J11: a killed host's processes are ended when a host starts on its machine, also when its
// runs are no longer orphans because they were canceled since.
func TestWhatAKilledHostLeftIsFoundWhateverBecameOfItsRuns(t *testing.T) {
	c := newHostWorld(t)
	c.start()
	for range 4 { // of both kinds of agents, in all likelihood
		c.submit()
	}
	require.Eventually(t, func() bool {
		page, err := c.client.Inbox(t.Context(), lifecycle.InboxQuery{})
		require.NoError(t, err)
		return len(page.Questions) == 4
	}, time.Minute, 10*time.Millisecond, "all ask")
	_, err := c.client.Submit(t.Context(), lifecycle.Spec{
		ID: "resident", Engine: "resident", Prompt: enginetest.Script("spawn child", "detach astray", "ask One?"),
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		run, err := c.client.Get(t.Context(), "resident")
		require.NoError(t, err)
		return run.State == fsm.StateWaitingUser
	}, time.Minute, 10*time.Millisecond)
	c.kill()
	for _, id := range append(c.runs, "resident") {
		require.NoError(t, c.client.Cancel(t.Context(), id, ""))
	}
	require.NotEmpty(t, c.records(), "nobody has looked yet")
	require.NotEmpty(t, processesOf(t, c.mine), "the kernel ends only what the host started itself")
	done, err := c.client.Recover(t.Context())
	require.NoError(t, err)
	require.Zero(t, done.Requeued+done.Failed, "no run is an orphan")

	c.start()
	c.cleaned()
	c.leave()
}

// records lists the names of recorded processes, without version queries.
func (c *hostWorld) records() (left []string) {
	c.Helper()
	all, err := os.ReadDir(filepath.Join(c.dir, "processes"))
	require.NoError(c, err)
	for _, r := range all {
		if !strings.HasPrefix(r.Name(), "query@") {
			left = append(left, r.Name())
		}
	}
	return left
}

// cleaned waits until a serving host, whose runs have all ended, has ended their leftover
// processes.
func (c *hostWorld) cleaned() {
	c.Helper()
	require.Eventually(c, func() bool {
		return len(c.records()) == 0 && len(processesOf(c, c.mine)) == 0
	}, time.Minute, 20*time.Millisecond,
		"records %v", c.records())
}

// hostWorld is the story's host, and the facts about its runs.
type hostWorld struct {
	*testing.T
	dir    string
	store  *sqlite.Store
	client *lifecycle.Lifecycle
	dice   *rand.Rand
	host   *exec.Cmd
	in     io.WriteCloser
	errs   bytes.Buffer

	mu    sync.Mutex
	runs  []string        // guarded by mu
	ended map[string]bool // guarded by mu
}

func newHostWorld(t *testing.T) *hostWorld {
	t.Helper()
	t.Logf("seed %d", sample.Seed())
	c := &hostWorld{T: t, dir: t.TempDir(), dice: rand.New(rand.NewPCG(sample.Seed(), 7)), ended: make(map[string]bool)}
	var err error
	c.store, err = sqlite.Open(t.Context(), filepath.Join(c.dir, "runs.db"), sqlite.Options{})
	require.NoError(t, err)
	c.client, err = lifecycle.New(hostConfig(t, c.dir, c.store))
	require.NoError(t, err)
	t.Cleanup(func() {
		c.kill()
		c.client.Close()
		require.NoError(t, c.store.Close())
		for _, pid := range processesOf(t, c.mine) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // after a failure only
		}
	})
	return c
}

// hostConfig is the configuration of the host, and of the observing client.
func hostConfig(tb testing.TB, dir string, s *sqlite.Store) lifecycle.Config {
	tb.Helper()
	cfg, err := orphanConfig(dir, s)
	require.NoError(tb, err)
	return cfg
}

// start starts a host.
func (c *hostWorld) start() {
	c.Helper()
	self, err := os.Executable()
	require.NoError(c, err)
	c.host = exec.CommandContext(context.WithoutCancel(c.Context()), self)
	c.host.Env = append(os.Environ(), envOrphans+"="+c.dir)
	c.host.Stderr = &c.errs
	c.in, err = c.host.StdinPipe() // a host ends with its parent
	require.NoError(c, err)
	require.NoError(c, c.host.Start())
}

// kill kills the host with SIGKILL.
func (c *hostWorld) kill() {
	if c.host == nil {
		return
	}
	_ = c.host.Process.Kill()
	_ = c.host.Wait() // it was killed
	_ = c.in.Close()
	c.host = nil
}

// leave has the host end in good order.
func (c *hostWorld) leave() {
	c.Helper()
	require.NoError(c, c.in.Close())
	require.NoError(c, c.host.Wait(), "%s", &c.errs)
	c.host = nil
}

// killAgent kills a process of some run, whichever; there may be none.
func (c *hostWorld) killAgent() bool {
	c.Helper()
	all := processesOf(c, c.mine)
	return len(all) > 0 && syscall.Kill(all[c.dice.IntN(len(all))], syscall.SIGKILL) == nil
}

func (c *hostWorld) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-c.Context().Done():
	}
}

// submit adds a run: of either kind of agent, which asks twice.
func (c *hostWorld) submit() {
	c.Helper()
	c.mu.Lock()
	id := fmt.Sprintf("run-%d", len(c.runs))
	c.runs = append(c.runs, id)
	c.mu.Unlock()
	name := []string{"single", "resident"}[c.dice.IntN(2)]
	_, err := c.client.Submit(c.Context(), lifecycle.Spec{
		ID: id, Engine: name, Repeatable: c.dice.IntN(2) == 0, Prompt: enginetest.Script("spawn child", "detach astray",
			"say working", "ask One?"),
	})
	require.NoError(c, err)
}

// answer answers whatever is asked until ctx ends.
func (c *hostWorld) answer(ctx context.Context) {
	next := []string{
		enginetest.Script("spawn second", "say going on", "ask Two?"),
		enginetest.Script("detach third", "done well"),
	}
	for ctx.Err() == nil {
		page, err := c.client.Inbox(ctx, lifecycle.InboxQuery{Limit: 100})
		for _, open := range page.Questions {
			_, err = c.client.Reply(ctx, open.RunID, interaction.Reply{ID: open.Question.ID,
				Text: next[min(open.Question.ID, 2)-1]})
			if err != nil && ctx.Err() == nil && !errors.Is(err, lifecycle.ErrSettled) && !errors.Is(err,
				lifecycle.ErrNotWaiting) && !errors.Is(err, lifecycle.ErrTerminal) {
				c.Errorf("reply to %s: %v", open.RunID, err)
			}
		}
		if err != nil && ctx.Err() == nil {
			c.Logf("inbox: %v", err)
		}
		c.pause(10 * time.Millisecond)
	}
}

// open counts the runs that have not ended.
func (c *hostWorld) open() int {
	c.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, id := range c.runs {
		if c.ended[id] {
			continue
		}
		run, err := c.client.Get(c.Context(), id)
		require.NoError(c, err)
		if c.ended[id] = run.State.Terminal(); !c.ended[id] {
			n++
		}
	}
	return n
}

// mine reports whether a run belongs to this story, by the folder given to its process.
func (c *hostWorld) mine(env []string) bool {
	for _, v := range env {
		if v == "ORPHANS="+c.dir {
			return true
		}
	}
	return false
}

// judge puts every log before the contract's invariants, and counts how the runs ended.
func (c *hostWorld) judge(hosts, agents int) {
	c.Helper()
	states, codes := make(map[fsm.State]int), make(map[fsm.Code]int)
	for _, id := range c.runs {
		run, err := c.client.Get(c.Context(), id)
		require.NoError(c, err)
		require.False(c, run.Slot)
		states[run.State]++
		if run.Error != nil {
			if codes[run.Error.Code]++; codes[run.Error.Code] == 1 {
				c.Logf("%s: %s", run.Error.Code, run.Error.Message)
			}
		}
		var log bytes.Buffer
		events, err := c.store.Events(c.Context(), id, 0, 10_000)
		require.NoError(c, err)
		for _, e := range events {
			log.Write(append(e.Body, '\n'))
		}
		report, err := audit.Check(&log)
		require.NoError(c, err)
		require.Nil(c, report.First(), "log of %s", id)
	}
	c.Logf("%d hosts and %d agents killed; %d runs: %v, errors %v", hosts, agents, len(c.runs), states, codes)
	require.NotZero(c, states[fsm.StateSucceeded], "some get through")
}

// processesOf lists the processes that carry a run's token and whose environment is as wanted.
func processesOf(tb testing.TB, wanted func(env []string) bool) (pids []int) {
	tb.Helper()
	all, err := os.ReadDir("/proc")
	require.NoError(tb, err)
	for _, p := range all {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		body, err := os.ReadFile("/proc/" + p.Name() + "/environ")
		if err != nil || !bytes.Contains(body, []byte(process.EnvToken+"=")) {
			continue
		}
		if wanted(strings.Split(string(body), "\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}
