package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
)

type Engine interface {
	engine.Engine
	engine.Checker
	engine.Resident
	engine.Reaper
	engine.ProcessCleaner
	engine.Scoped
	io.Closer
}

// Supervisor ends the processes of an engine. An engine that embeds it implements engine.Resident,
// engine.Reaper and engine.ProcessCleaner, and has Close.
type Supervisor struct {
	table     *Table
	residents interface {
		End(runID string)
		OnLoss(fn func(runID string, reason error)) (stop func())
		Close()
	}
}

type Group[P ResidentProcess] struct {
	*Table

	Residents *Residents[P]
}

// NewGroup returns an empty group with records in stateDir (NewTable). owner is the engine's
// package.
func NewGroup[P ResidentProcess](owner, stateDir string) Group[P] {
	return Group[P]{Table: NewTable(stateDir), Residents: NewResidents[P](owner)}
}

// Scope returns the group of one host, with the same records; see engine.Scoped.
func (g Group[P]) Scope() Group[P] { return Group[P]{Table: g.Table, Residents: g.Residents.Scope()} }

// Supervisor returns the supervisor of the group.
func (g Group[P]) Supervisor() Supervisor {
	return Supervisor{table: g.Table, residents: g.Residents}
}

// Reap ends the processes that a dead host left for the run; see Table.Reap.
func (s Supervisor) Reap(ctx context.Context, runID string) error { return s.table.Reap(ctx, runID) }

// CleanUp ends the processes that dead hosts left for any run; see Table.CleanUp.
func (s Supervisor) CleanUp(ctx context.Context) error { return s.table.CleanUp(ctx) }

// End ends the run's resident process, if there is one, and waits for its end.
func (s Supervisor) End(_ context.Context, runID string) error {
	s.residents.End(runID)
	return nil
}

// OnLoss registers fn for resident processes that end by themselves between turns. fn must not call
// stop.
func (s Supervisor) OnLoss(fn func(runID string, reason error)) (stop func()) {
	return s.residents.OnLoss(fn)
}

// Close ends all resident processes, also of the engine's scopes, concurrently within one grace
// period. lifecycle.Serve ends the processes of the runs that it knows.
func (s Supervisor) Close() error {
	s.residents.Close()
	return nil
}

// InterruptedBeforeStart is the outcome of a turn canceled before its agent is started.
func InterruptedBeforeStart() engine.Outcome {
	return engine.Outcome{Process: engine.Process{Status: engine.Interrupted, Code: fsm.CodeTurnInterrupted,
		Detail: "the turn was interrupted before it began"}}
}

// Program is an agent's program file. Two are equal as long as the file is not replaced.
type Program struct {
	Path    string // absolute, because the agent starts in another folder
	size    int64
	changed int64 // Unix time in nanoseconds
}

// FindProgram looks a command up on PATH, or at its path. The lookup is fast enough to repeat in
// each turn, so that turns notice installed, updated and removed programs.
func FindProgram(command string) (Program, error) {
	path, err := exec.LookPath(command)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return Program{}, err
	}
	file, err := os.Stat(path)
	if err != nil {
		return Program{}, err
	}
	return Program{Path: path, size: file.Size(), changed: file.ModTime().UnixNano()}, nil
}

// Probe caches a program's answer to a query until its file is replaced. The zero value is ready;
// it is safe for concurrent use.
type Probe[A any] struct {
	mu      sync.Mutex // held during the query, so that it is made once
	program Program    // guarded by mu; the last program with an answer
	answer  A          // guarded by mu
	until   time.Time  // guarded by mu; the end of a provisional answer, else zero
}

// Answer returns the cached answer for this program, or calls ask. ask returns the lifetime of a
// provisional answer, zero for a final one. Errors are not cached.
func (p *Probe[A]) Answer(program Program, ask func() (A, time.Duration, error)) (A, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.program == program && (p.until.IsZero() || time.Now().Before(p.until)) {
		return p.answer, nil
	}
	answer, holds, err := ask()
	if err != nil {
		return answer, err
	}
	p.program, p.answer, p.until = program, answer, time.Time{}
	if holds > 0 {
		p.until = time.Now().Add(holds)
	}
	return answer, nil
}

// NotStarted is the failure of a turn whose agent cannot be started.
func NotStarted(err error) error { return Unavailable("the agent's program cannot be started", err) }

// Unavailable is the failure of a turn whose agent cannot be used. It is retried after a temporary
// error, for example too many open files.
func Unavailable(detail string, err error) error {
	return failure(fsm.CodeEngineUnavailable, detail, err)
}

func failure(code fsm.Code, detail string, err error) error {
	return &engine.Failure{Code: code, Detail: detail, Err: err, Transient: engine.PassingError(err)}
}

// CheckFolders returns the failure of a turn whose folders are missing.
func CheckFolders(t engine.Turn) error {
	if t.WorkDir == "" || t.TranscriptDir == "" {
		return Unavailable("an agent with a child process needs folders: configure a folder for runs", nil)
	}
	if err := checkFolder(t.WorkDir); err != nil {
		return failure(fsm.CodeWorkspaceMissing, "the run's folder is missing", err)
	}
	return nil
}

// CheckHome returns the failure of a turn whose agent stores files in the run's home, and whose
// home is missing. Without them, an agent that resumes a session would start over, or fail with a
// misleading error.
func CheckHome(t engine.Turn, resumed bool) error {
	if t.HomeDir == "" {
		return Unavailable("the agent needs a home for the run: configure a folder for runs", nil)
	}
	err := checkFolder(t.HomeDir)
	if err == nil {
		return nil
	}
	code := fsm.CodeWorkspaceMissing
	if resumed {
		code = fsm.CodeSessionResumeFailed
	}
	return failure(code, "the agent's home is missing: "+t.HomeDir, err)
}

func checkFolder(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", path)
	}
	return err
}

// CallPrepare calls a configuration's Prepare function; nil does nothing. An error other than an
// engine.Failure becomes one.
func CallPrepare(ctx context.Context, prepare func(context.Context, engine.Turn) error, t engine.Turn) error {
	if prepare == nil {
		return nil
	}
	err := prepare(ctx, t)
	var f *engine.Failure
	if err == nil || errors.As(err, &f) {
		return err
	}
	return Unavailable("the agent could not be prepared", err)
}

// TurnTimer calls a function if a turn takes too long, or its agent is idle for too long. A nil
// TurnTimer has no limits.
type TurnTimer struct {
	turn, idle *time.Timer // nil: unlimited
	idleLimit  time.Duration
}

// StartTurnTimer starts to measure a turn and its idle time; a zero limit is unlimited. exceeded
// gets a description of the limit; idleness describes an idle agent, for example "no output".
func StartTurnTimer(turn, idle time.Duration, idleness string, exceeded func(what string)) *TurnTimer {
	t := &TurnTimer{idleLimit: idle}
	if turn > 0 {
		t.turn = time.AfterFunc(turn, func() { exceeded("the turn exceeded its limit of " + turn.String()) })
	}
	if idle > 0 {
		t.idle = time.AfterFunc(idle, func() { exceeded(idleness + " for " + idle.String()) })
	}
	return t
}

// PauseIdle pauses the idle time: a slow store does not make the agent idle.
func (t *TurnTimer) PauseIdle() {
	if t != nil && t.idle != nil {
		t.idle.Stop()
	}
}

// RestartIdle restarts the idle time at zero.
func (t *TurnTimer) RestartIdle() {
	if t != nil && t.idle != nil {
		t.idle.Reset(t.idleLimit)
	}
}

// Stop ends all measurements.
func (t *TurnTimer) Stop() {
	t.PauseIdle()
	if t != nil && t.turn != nil {
		t.turn.Stop()
	}
}
