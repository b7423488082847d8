//go:build linux

package agents_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/agents/agentstest"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/modeltest"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/store/sqlite"
)

const (
	patience = 3 * time.Minute // how long to wait for an event
	pause    = 10 * time.Millisecond
)

// world belongs to one story: a model, a store, and a host, which is another process.
type world struct {
	*testing.T
	place
	agent  agent
	model  *modeltest.Server
	client *lifecycle.Client
	user   string // the home of the host's user

	host *cast.Host
}

// eachAgent runs the story with each agent that the tests drive and that the story is for.
func eachAgent(t *testing.T, isFor func(agent) bool, story func(*world)) {
	t.Helper()
	names := make([]string, 0, len(byName))
	for name, a := range byName {
		if isFor(a) && len(agentstest.Tried(a.program)) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, name)
			w.start()
			story(w)
		})
	}
}

func survives(a agent) bool { return !a.stays }
func resumes(a agent) bool  { return !a.stays && !a.brief }
func stays(a agent) bool    { return a.stays }
func either(a agent) bool   { return !a.brief }

func newWorld(t *testing.T, name string) *world {
	t.Helper()
	w := &world{T: t, agent: byName[name], place: place{Dir: t.TempDir(), Agent: name}, user: t.TempDir()}
	w.Program = agentstest.Remembered(t, w.agent.program)
	var err error
	w.model, err = modeltest.Start(modeltest.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.model.Close()) })
	w.Model = w.model.URL
	s, err := sqlite.Open(t.Context(), w.db(), sqlite.Options{})
	require.NoError(t, err)
	require.NoError(t, s.SetPool(t.Context(), pool))
	w.client, err = lifecycle.NewClient(lifecycle.ClientConfig{Store: s, Poll: pause})
	require.NoError(t, err)
	for _, file := range []string{".codex/config.toml", ".claude.json", ".claude/settings.json",
		".gemini/settings.json", ".qwen/settings.json", ".config/opencode/opencode.json"} {
		path := filepath.Join(w.user, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte("this is the user's own, and no agent can read it as settings"),
			0o600))
	}
	before := snapshot(t, w.user)
	t.Cleanup(func() {
		w.kill()
		w.client.Close()
		require.NoError(t, s.Close())
		left := processes(func(map[string]string) bool { return true }, w.Dir)
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // needed only after a failure, or if the story ends with a kill
		}
		require.Equal(t, before, snapshot(t, w.user), "the user's own home is touched")
	})
	return w
}

// start starts a host with a home other than this user's.
func (w *world) start() {
	w.Helper()
	env := []string{"HOME=" + w.user}
	for _, name := range []string{"CONFIG", "DATA", "STATE", "CACHE"} {
		env = append(env, "XDG_"+name+"_HOME="+filepath.Join(w.user, "."+strings.ToLower(name)))
	}
	var err error
	w.host, err = cast.StartHost(context.WithoutCancel(w.Context()), w.place, cast.HostOptions{Env: env})
	require.NoError(w, err)
}

// kill kills the host with SIGKILL.
func (w *world) kill() {
	if w.host == nil {
		return
	}
	_ = w.host.Kill() // it may have ended
	w.host = nil
}

// killAll kills the host and the processes of the run at once.
func (w *world) killAll(id string) {
	w.Helper()
	of := w.processes(id)
	require.NotEmpty(w, of, "the agent runs")
	_ = w.host.Signal(syscall.SIGKILL)
	for _, pid := range of {
		_ = syscall.Kill(pid, syscall.SIGKILL) // the process may have died with its host
	}
	w.kill()
}

// submit adds a run.
func (w *world) submit(spec lifecycle.Spec, steps ...string) string {
	w.Helper()
	spec.Prompt = enginetest.Script(steps...)
	run, err := w.client.Submit(w.Context(), spec)
	require.NoError(w, err)
	return run.ID
}

// asked waits for the run's question.
func (w *world) asked(id, prompt string) int {
	w.Helper()
	run := w.when(id, func(run lifecycle.Run) bool { return run.State == fsm.StateWaitingUser })
	require.Equal(w, prompt, run.Open[0].Prompt)
	return run.Open[0].ID
}

// reply answers the run's question.
func (w *world) reply(id string, question int, steps ...string) {
	w.Helper()
	_, err := w.client.Reply(w.Context(), id, interaction.Reply{ID: question, Text: enginetest.Script(steps...)})
	require.NoError(w, err)
}

// ended waits for the run's end.
func (w *world) ended(id string, state fsm.State) lifecycle.Run {
	w.Helper()
	run := w.when(id, func(run lifecycle.Run) bool { return run.State.Terminal() })
	require.Equal(w, state, run.State, "%+v", run.Error)
	return run
}

// when waits until so returns true for the run. It fails if the run ends before.
func (w *world) when(id string, so func(lifecycle.Run) bool) (run lifecycle.Run) {
	w.Helper()
	require.Eventually(w, func() bool {
		var err error
		run, err = w.client.Get(w.Context(), id)
		require.NoError(w, err)
		return so(run) || run.State.Terminal()
	}, patience, pause, "the run is not so")
	require.True(w, so(run), "%s: %+v", run.State, run.Error)
	return run
}

// waitForFile waits for a file that the model creates.
func (w *world) waitForFile(name string) {
	w.Helper()
	require.Eventually(w, func() bool {
		_, err := os.Stat(filepath.Join(w.Dir, name))
		return err == nil
	}, patience, pause, "the model was not asked")
}

// make makes a file that the model waits for.
func (w *world) make(name string) {
	w.Helper()
	require.NoError(w, os.WriteFile(filepath.Join(w.Dir, name), nil, 0o600))
}

// conversationWith returns the user's texts in the last conversation that mentions the word.
func (w *world) conversationWith(word string) string {
	w.Helper()
	for _, r := range slices.Backward(w.model.Requests()) {
		all := strings.Join(r.Users, "\n")
		if r.API != "" && !r.Side && strings.Contains(all, word) {
			return all
		}
	}
	w.Fatalf("no conversation mentions %s", word)
	return ""
}

// processes returns the processes of the run.
func (w *world) processes(id string) []int {
	return processes(func(env map[string]string) bool { return env[process.EnvRun] == id }, w.Dir)
}

// gone waits until the run has no process left.
func (w *world) gone(id string) {
	w.Helper()
	require.Eventually(w, func() bool {
		return len(w.processes(id)) == 0
	}, patience, pause, "processes of the run are left")
}

// processes returns the processes that have the marks of a run and use the folder.
func processes(wanted func(env map[string]string) bool, dir string) (pids []int) {
	names, _ := filepath.Glob("/proc/[0-9]*")
	for _, name := range names {
		body, err := os.ReadFile(filepath.Join(name, "environ"))
		if err != nil || !bytes.Contains(body, []byte(process.EnvToken+"=")) || !bytes.Contains(body, []byte(dir)) {
			continue
		}
		env := make(map[string]string)
		for _, v := range strings.Split(string(body), "\x00") {
			name, value, _ := strings.Cut(v, "=")
			env[name] = value
		}
		if pid, err := strconv.Atoi(filepath.Base(name)); err == nil && wanted(env) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// arguments returns the arguments of the run's processes, one process on each line.
func (w *world) arguments(id string) string {
	var all []string
	for _, pid := range w.processes(id) {
		body, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline") // the process may have ended
		all = append(all, strings.ReplaceAll(string(body), "\x00", " "))
	}
	return strings.Join(all, "\n")
}

// snapshot returns the content of a folder.
func snapshot(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	all := make(map[string]string)
	require.NoError(tb, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			all[path] = "folder"
			return err
		}
		body, err := os.ReadFile(path)
		all[path] = string(body)
		return err
	}))
	return all
}
