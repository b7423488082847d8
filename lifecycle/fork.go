package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/lifecycle/internal/node"
	"github.com/interlude-go/interlude/store"
)

// ErrCannotFork: the run cannot be forked at this point, for the reason in the text. Nothing was
// stored.
var ErrCannotFork = errors.New("lifecycle: run cannot be forked there")

// Fork stores and returns a new run that continues from a settled question of the run with this id,
// its source, or from its end. The source is only read, and need not have ended; its later changes do
// not affect the fork. The fork is queued, with its own log, attempts, limits and folders, and
// numbers its questions from 1. It inherits
//
//   - the session at that point, which the engine (an engine.Brancher) branches in the fork's first
//     turn. A fork from the end of a run that never got an answer starts over with the prompt and
//     needs no session;
//   - the journal at that point (engine.Journal). A run with unfinished children cannot be forked
//     there;
//   - the history up to that point, as in Inherited and engine.Turn.Inherited;
//   - the answer: the stored one, or At.Answer;
//   - the specification, with the changes of At.Change. Files are not copied: a fork without a
//     WorkDir begins with an empty folder.
//
// A fork inherits neither the answer to an approval, nor an answer that its author could not have
// given, for instance because of the question's audience (AskPolicy). It asks that question
// again, together with the other questions of the turn, from number 1, with the source's
// audience, number of people and wait. Its engine is called once they are answered.
// Query.ForkedFrom finds a run's forks.
//
// Errors, with nothing written: ErrNotFound, ErrCannotFork (the question is open or was never
// asked, the run has not ended, its session belongs to a resident process or was not kept by an
// earlier release, the engine cannot branch the session, or the question does not take the Answer),
// ErrNotAsked (the author may not give the Answer), ErrSpecConflict (another run has the id At.ID),
// an *ArgumentError or *SpecError. After any other error, including one of the context, call again
// with the same At.ID: the fork may have been stored. A client without engines cannot check the
// session; if it cannot be branched, the fork's first turn fails with SESSION_RESUME_FAILED.
//
// Nodes of a release without forks can neither execute nor read a fork.
func (c *Client) Fork(ctx context.Context, id string, at At) (Run, error) {
	run, _, err := c.GetOrFork(ctx, id, at)
	return run, err
}

// GetOrFork is Fork, and also reports whether the fork existed before, as in GetOrSubmit.
func (c *Client) GetOrFork(ctx context.Context, id string, at At) (fork Run, known bool, err error) {
	if err := c.checkRun(ctx, id); err != nil {
		return Run{}, false, err
	}
	if at.Actor.IsZero() {
		at.Actor = at.Answer.Actor
	}
	if at.Actor, err = c.resolveActor("at.Actor", at.Actor); err != nil {
		return Run{}, false, err
	}
	if err := at.complete(); err != nil {
		return Run{}, false, err
	}
	at.Actor = withoutPrincipal(at.Actor)
	at.Answer.Actor = withoutPrincipal(at.Answer.Actor)
	now := c.proc.Now()
	run, stored, err := c.draftFork(ctx, id, &at, now)
	if err != nil {
		return c.forkMadeBefore(ctx, id, &at, err)
	}
	cm, err := decide.Submission(&run, stored)
	if err != nil {
		return Run{}, false, err
	}
	err = c.proc.Commit(ctx, cm)
	if errors.Is(err, store.ErrExists) {
		fork, err = c.existingRun(ctx, run)
		return fork, err == nil, err
	}
	if err != nil {
		return Run{}, false, fmt.Errorf("lifecycle: fork run %s: %w", id, err)
	}
	c.proc.Due.Note(run.NotBefore)
	return cm.Run, false, nil
}

// draftFork reads the source, and makes the fork's record and its stored form.
func (c *Client) draftFork(ctx context.Context, id string, at *At, now time.Time) (run Run, stored []byte, _ error) {
	source, err := c.readForkSource(ctx, id, at.Question)
	if err != nil {
		return Run{}, nil, err
	}
	if err := c.allow(ctx, ActionFork, &source.Run, questionOf(source.Settled, at.Question)); err != nil {
		return Run{}, nil, err
	}
	from, err := source.inheritance(at, now)
	if err == nil {
		err = c.inheritJournal(ctx, &source, from)
	}
	if err != nil {
		return Run{}, nil, err
	}
	spec := source.spec
	spec.NotBefore = time.Time{}
	run, own, err := draftRun(spec, id, at, now)
	if err != nil {
		return Run{}, nil, err
	}
	if err := c.checkBranch(ctx, run.Engine, from); err != nil {
		return Run{}, nil, err
	}
	if run.ID == "" {
		run.ID = node.NewID(now)
	}
	if run.ID == id {
		return Run{}, nil, fmt.Errorf("%w: %s; a fork needs an id of its own", ErrSpecConflict, id)
	}
	from.Withhold(at.Actor)
	setInheritance(&run, from)
	if run.AsksAgain() && run.Mode != fsm.ModeInteractive {
		return Run{}, nil, source.refuse("it must ask again, and would be a run of mode %s", run.Mode)
	}
	stored, err = joinSubmitted(id, own, from)
	return run, stored, err
}

// setInheritance sets the fields of a fork's record that depend on its inheritance.
func setInheritance(run *Run, from *decide.Origin) {
	switch {
	case len(from.Answers) > 0:
		run.Together = &store.Together{Inherited: true}
	case from.Answer != nil:
		run.Answers = []interaction.Answer{*from.Answer}
	}
	run.ForkedFrom.AsksAgain, run.ForkedFrom.Withholds = len(from.Asks), len(from.Withheld) > 0
}

// draftRun makes a fork's record from its source's specification, changed according to at.
func draftRun(spec Spec, id string, at *At, now time.Time) (run Run, body []byte, err error) {
	engineName := spec.Engine
	if at.Change != nil {
		at.Change(&spec)
	}
	spec.ID = at.ID
	if spec.Engine != engineName {
		return Run{}, nil, &SpecError{"Engine", quote(spec.Engine), "that of the run, " + quote(engineName), nil}
	}
	if spec.WorkDir, err = node.Absolute(spec.WorkDir); err != nil {
		return Run{}, nil, &SpecError{"WorkDir", quote(spec.WorkDir), "an absolute folder: the process's own is not " +
			"known", err}
	}
	if err := spec.Validate(); err != nil {
		return Run{}, nil, err
	}
	if run, body, err = spec.record(now); err != nil {
		return Run{}, nil, err
	}
	run.ForkedFrom = &ForkPoint{RunID: id, Question: at.Question}
	asked, err := json.Marshal(append([]any{run.SpecDigest, run.ForkedFrom}, at.identity()...))
	run.SpecDigest = digestOf(asked)
	return run, body, err
}

// forkMadeBefore returns the fork that an earlier call with the same arguments stored. It is
// called when the fork cannot be made now: the source may have changed or been pruned. If there
// is no such fork, it returns the error why.
func (c *Client) forkMadeBefore(ctx context.Context, id string, at *At, why error) (_ Run, known bool, _ error) {
	if errors.Is(why, ErrNotAllowed) {
		return Run{}, false, why
	}
	fork, ok := c.existingFork(ctx, id, at)
	if !ok {
		return Run{}, false, why
	}
	if err := c.allow(ctx, ActionFork, &fork, nil); err != nil {
		return Run{}, false, err
	}
	return fork, true, nil
}

// existingFork returns the fork if an earlier call with the same arguments has stored it.
func (c *Client) existingFork(ctx context.Context, id string, at *At) (fork Run, ok bool) {
	if at.ID == "" {
		return Run{}, false
	}
	var body []byte
	err := c.proc.Store.Confirm(ctx, func(r store.Reader) (err error) { // the caller relies on it
		if fork, err = r.Run(ctx, at.ID); err == nil {
			body, err = r.Spec(ctx, at.ID)
		}
		return err
	})
	if err != nil {
		return Run{}, false
	}
	spec, _, err := decodeSubmitted(at.ID, body)
	if err != nil {
		return Run{}, false
	}
	again, _, err := draftRun(spec, id, at, fork.CreatedAt)
	return fork, err == nil && again.SpecDigest == fork.SpecDigest // never the digest of a submission
}

type forkSource struct {
	decide.ForkSource

	spec Spec
}

// readForkSource reads a run through Confirm: the fork's starting point must be durable.
func (c *Client) readForkSource(ctx context.Context, id string, question int) (s forkSource, _ error) {
	var body []byte
	err := c.proc.Store.Confirm(ctx, func(r store.Reader) (err error) {
		if s.Run, s.Settled, err = historyToInherit(ctx, r, id, question); err == nil {
			body, err = r.Spec(ctx, id)
		}
		return err
	})
	if err == nil {
		s.spec, s.From, err = decodeSubmitted(id, body)
		s.WorkDir = s.spec.WorkDir
	}
	if err != nil {
		return s, fmt.Errorf("lifecycle: fork run %s: %w", id, err)
	}
	return s, nil
}

func (s *forkSource) refuse(format string, args ...any) error {
	return fmt.Errorf("%w: run %s: %s", ErrCannotFork, s.Run.ID, fmt.Sprintf(format, args...))
}

// inheritance returns the part of the source that the fork inherits, or an error.
func (s *forkSource) inheritance(at *At, now time.Time) (*decide.Origin, error) {
	point := decide.ForkAt{Question: at.Question, Author: at.Actor}
	if at.hasAnswer() {
		point.Answer = &at.Answer
	}
	from, err := decide.Fork(&s.ForkSource, &point, now)
	var refused *decide.CannotFork
	switch {
	case errors.As(err, &refused) && refused.Err != nil:
		return nil, fmt.Errorf("%w: run %s: %s: %w", ErrCannotFork, s.Run.ID, refused.Reason, refused.Err)
	case refused != nil:
		return nil, s.refuse("%s", refused.Reason)
	case err != nil:
		return nil, fmt.Errorf("lifecycle: fork run %s: %w", s.Run.ID, err)
	}
	return from, nil
}

// checkBranch asks the engine, if known, whether it can branch the session.
func (c *Client) checkBranch(ctx context.Context, name string, from *decide.Origin) error {
	if len(c.proc.Engines) == 0 {
		return nil
	}
	e := c.proc.Engines[name]
	if e == nil {
		return &SpecError{"Engine", quote(name), "the name of a configured engine", nil}
	}
	if from.Session == nil {
		return nil
	}
	brancher, ok := e.(engine.Brancher)
	if !ok {
		return fmt.Errorf("%w: engine %q cannot branch a session", ErrCannotFork, name)
	}
	what := node.EngineCall{Engine: name, Method: "CanBranch", RunID: from.RunID}
	if err := c.proc.Call(ctx, node.CheckLimit, what, func(ctx context.Context) error {
		return brancher.CanBranch(ctx, from.BranchPoint())
	}); err != nil {
		return fmt.Errorf("%w: engine %q: %w", ErrCannotFork, name, err)
	}
	return nil
}

// inheritJournal reads the inherited part of the source's journal. The source may continue
// concurrently: entries are only added.
func (c *Client) inheritJournal(ctx context.Context, s *forkSource, from *decide.Origin) error {
	if from.OwnEntries == 0 {
		return nil
	}
	var room node.JournalRoom
	if err := room.Reserve(ctx, c.proc.Journals, node.JournalSize(nil, s.Run.Journal)); err != nil {
		return fmt.Errorf("lifecycle: fork run %s: %w", s.Run.ID, err)
	}
	defer room.Close(c.proc.Journals)
	entries, err := c.proc.Store.Journal(ctx, s.Run.ID)
	if err == nil {
		err = store.CheckJournal(s.Run.ID, entries, s.Run.Journal)
	}
	if err == nil && len(entries) < from.OwnEntries {
		err = fmt.Errorf("%w: its journal has %d entries of %d", store.ErrCorrupt, len(entries), from.OwnEntries)
	}
	if err != nil {
		return fmt.Errorf("lifecycle: fork run %s: %w", s.Run.ID, err)
	}
	from.Journal = append(from.Journal, entries[:from.OwnEntries]...)
	return c.checkChildrenEnded(ctx, s, from.Point)
}

// checkChildrenEnded refuses the fork if the source had an unended child at that time: the fork could
// not wait for the child that its journal names.
func (c *Client) checkChildrenEnded(ctx context.Context, s *forkSource, at time.Time) error {
	if s.Run.Family == nil || s.Run.Family.Children == 0 {
		return nil
	}
	for q := (store.Query{Parent: s.Run.ID, Limit: store.MaxBatch}); ; {
		page, err := c.proc.Store.Runs(ctx, q)
		if err != nil {
			return fmt.Errorf("lifecycle: fork run %s: %w", s.Run.ID, err)
		}
		for i := range page.Runs {
			child := &page.Runs[i]
			if !child.CreatedAt.After(at) && (!child.State.Terminal() || child.FinishedAt.After(at)) {
				return s.refuse("it had started run %s, which had not ended at that point", child.ID)
			}
		}
		if q.After = page.Next; page.Next == "" {
			return nil
		}
	}
}
