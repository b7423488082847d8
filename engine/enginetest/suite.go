package enginetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest/script"
	"github.com/interlude-go/interlude/engine/modeltest"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
)

// Harness makes the engine under test.
type Harness struct {
	// New returns an engine that runs the suite's agent. dir is the case's folder. The suite ends
	// the engine's processes and closes an engine that has a Close method.
	New func(tb testing.TB, dir string) engine.Engine
	// Program says that the agent is Main, a process; it adds the cases for processes.
	Program bool
	// Model is the model behind real agents: New points them at its URL. It selects the cases that
	// real agents can play, a few dozen turns. An agent must be able to run a shell command in auto
	// mode. On Linux the suite finds its processes by the run's working folder or by process.EnvRun
	// in their environment.
	Model *modeltest.Server
	// Journal says that the agent is a function which replays its run's journal, as in package
	// flow, and stores each effect there; the suite then checks what happens to the journal. Such
	// an agent receives its folder in the input, and its session may be unknown until the turn
	// ends.
	Journal bool
	// Patience bounds each wait of a case. One minute if zero, five with a Model.
	Patience time.Duration
}

// pause is the polling interval.
const pause = 2 * time.Millisecond

// scene is a case: a promise of engines and its check.
type scene struct {
	name    string // the promise, beginning with its requirements
	real    bool   // works with a real agent, too
	applies func(*world) bool
	play    func(*world)
}

// Run proves the engine: all applicable cases must pass.
func Run(t *testing.T, h Harness) {
	t.Helper()
	for _, scenes := range [][]scene{turns, sessions, endings, plain, journals, processes, residents, models} {
		for _, s := range scenes {
			if h.Model != nil && !s.real {
				continue
			}
			t.Run(s.name, func(t *testing.T) {
				w := newWorld(t, h)
				if s.applies == nil || s.applies(w) {
					s.play(w)
				}
			})
		}
	}
}

// Which engines a scene is for.
func isProgram(w *world) bool   { return w.Program }
func isModel(w *world) bool     { return w.Model != nil }
func isPlain(w *world) bool     { return w.profile.Plain }
func hasJournal(w *world) bool  { return w.Journal }
func isResumable(w *world) bool { return w.profile.Kind == fsm.ProfileResumable }
func isResident(w *world) bool  { return w.profile.Kind == fsm.ProfileStickyProcess }
func both(is ...func(*world) bool) func(*world) bool {
	return func(w *world) bool {
		for _, f := range is {
			if !f(w) {
				return false
			}
		}
		return true
	}
}

type world struct {
	testing.TB
	ctx     context.Context
	dir     string
	engine  engine.Engine
	profile engine.Profile
	Harness

	asked int // the last request to the model before this case
	runs  []*run
}

func newWorld(t *testing.T, h Harness) *world {
	t.Helper()
	if h.Patience == 0 {
		h.Patience = time.Minute
		if h.Model != nil {
			h.Patience = 5 * time.Minute
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), h.Patience)
	t.Cleanup(cancel)
	w := &world{TB: t, ctx: ctx, dir: t.TempDir(), Harness: h}
	if h.Model != nil {
		w.asked = w.lastAsked()
		t.Cleanup(w.nothingLeft)
	}
	w.engine = w.host()
	profile, err := w.engine.Profile(ctx)
	require.NoError(t, err)
	require.NotEmpty(t, profile.Reason, "a profile says why")
	w.profile = profile
	return w
}

func (w *world) host() engine.Engine {
	w.Helper()
	e := w.New(w, w.dir)
	if c, ok := e.(interface{ Close() error }); ok {
		w.Cleanup(func() { require.NoError(w, c.Close()) })
	}
	return e
}

// run is a run as its engine sees it: folders, session handle and reports.
type run struct {
	*world
	Recorder
	turn engine.Turn
	ref  string
}

// newRun makes a run with its folders. Its id begins with the name and is unique on this machine,
// so that its processes can be found.
func (w *world) newRun(name string) *run {
	w.Helper()
	base := filepath.Join(w.dir, name)
	r := &run{world: w, turn: engine.Turn{
		RunID: name + "-" + strings.ToLower(rand.Text()), Mode: fsm.ModeInteractive,
		WorkDir: filepath.Join(base, "work"), ArtifactDir: filepath.Join(base, "artifacts"),
		TranscriptDir: filepath.Join(base, "transcripts"),
		HomeDir:       filepath.Join(base, "home"),
	}}
	for _, dir := range []string{r.turn.WorkDir, r.turn.ArtifactDir, r.turn.TranscriptDir, r.turn.HomeDir} {
		require.NoError(w, os.MkdirAll(dir, 0o750))
	}
	w.runs = append(w.runs, r)
	return r
}

// next returns the run's next turn: the prompt first, answers later.
func (r *run) next(input string) engine.Turn {
	r.turn.Attempt++
	r.turn.Epoch++
	if r.Model != nil || r.Journal {
		steps := max(0, strings.Index("\n"+input, "\n::")) // text before the steps may have to begin the input
		input = input[:steps] + Script("in "+r.turn.ArtifactDir) + input[steps:]
	}
	if r.turn.Attempt == 1 {
		r.turn.Prompt = input
	} else {
		r.turn.Answers = []interaction.Answer{{ID: r.turn.Attempt - 1, Resolution: interaction.UserReply, Text: input,
			Ref: r.ref}}
	}
	return r.turn
}

// execute executes the next turn and keeps the handle for the following turn.
func (r *run) execute(ctx context.Context, input string) (engine.Outcome, error) {
	return r.executeOn(ctx, r.engine, input)
}

func (r *run) executeOn(ctx context.Context, e engine.Engine, input string) (engine.Outcome, error) {
	return r.turnOn(ctx, e, r.next(input))
}

// repeat executes the last turn again on another host, as a lifecycle does after a loss.
func (r *run) repeat() (engine.Outcome, error) {
	r.turn.Attempt++
	r.turn.Epoch++
	return r.turnOn(r.ctx, r.host(), r.turn)
}

// turnOn executes a turn as a lifecycle does: it recovers a panic and keeps the turn's results.
func (r *run) turnOn(ctx context.Context, e engine.Engine, t engine.Turn) (o engine.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	o, err = e.RunTurn(ctx, t, &r.Recorder)
	if err == nil && o.Process.Status == engine.OK && len(o.Journal) > 0 {
		err = r.Append(ctx, o.Journal...)
	}
	if len(o.Questions) > 0 {
		r.ref = o.Questions[0].Ref
	}
	if o.Session == nil {
		o.Session = r.Last()
	}
	if o.Session != nil {
		r.turn.Session = o.Session
	}
	return o, err
}

// do executes the next turn, which must succeed.
func (r *run) do(steps ...string) engine.Outcome {
	r.Helper()
	o, err := r.execute(r.ctx, Script(steps...))
	require.NoError(r, err)
	return o
}

// waits executes the next turn, which must succeed and return a session handle.
func (r *run) waits(steps ...string) engine.Outcome {
	r.Helper()
	o := r.do(steps...)
	require.Equal(r, engine.OK, o.Process.Status, o.Process.Detail)
	require.NotNil(r, o.Session, "B11: without a handle the run could not wait")
	return o
}

// going is a turn under way.
type going struct {
	*run
	cancel context.CancelCauseFunc
	done   chan struct{}
	o      engine.Outcome
	err    error
}

// startUntil starts the next turn and returns when the agent has made the file.
func (r *run) startUntil(file string, steps ...string) *going {
	r.Helper()
	g := r.start(steps...)
	g.reach(file)
	return g
}

func (r *run) start(steps ...string) *going {
	ctx, cancel := context.WithCancelCause(r.ctx)
	g := &going{run: r, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(g.done)
		g.o, g.err = r.execute(ctx, Script(steps...))
	}()
	r.Cleanup(func() { cancel(nil); <-g.done })
	return g
}

// reach returns when the agent has made the file, and fails if the turn ends first.
func (g *going) reach(file string) {
	g.Helper()
	ctx, cancel := context.WithCancel(g.ctx)
	defer cancel()
	go func() {
		select {
		case <-g.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	path := filepath.Join(g.turn.ArtifactDir, file)
	if err := script.AwaitFile(ctx, path); err != nil && !exists(path) {
		g.cancel(err)
		<-g.done
		g.Fatalf("the agent did not come to make %s: %v; the turn: %+v, %v", file, err, g.o.Process, g.err)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// finish returns the turn's outcome as the lifecycle sees it: an error is a failed process.
func (g *going) finish() engine.Outcome {
	g.Helper()
	select {
	case <-g.done:
	case <-g.ctx.Done():
		g.Fatal("the turn did not end")
	}
	if g.err != nil && g.o.Process.Status == engine.OK {
		g.o.Process.Status = engine.Failed
	}
	if g.o.Process.Status == "" {
		g.o.Process.Status = engine.Failed
	}
	return g.o
}

func (r *run) await(file string) {
	r.Helper()
	require.NoError(r, script.AwaitFile(r.ctx, filepath.Join(r.turn.ArtifactDir, file)),
		"the agent did not come to make %s", file)
}

func (r *run) touch(file string) {
	r.Helper()
	require.NoError(r, touch(r.turn.ArtifactDir, file, ""))
}

func (r *run) pid(file string) int {
	r.Helper()
	r.await(file)
	body, err := os.ReadFile(filepath.Join(r.turn.ArtifactDir, file))
	require.NoError(r, err)
	pid, err := strconv.Atoi(string(body))
	require.NoError(r, err)
	return pid
}

func (w *world) canceled() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(w.ctx)
	cancel(engine.ErrCanceled)
	return ctx, func() { cancel(nil) }
}
