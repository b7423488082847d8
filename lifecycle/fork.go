package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// This file forks runs (J6): a new run goes on from a point in the life of another one, which is
// only read. What the fork needs of it (session, history, answer) is copied, so that the other run
// may go on, end and be pruned as it likes.

// At says from where a run is forked, and what the fork begins with.
type At struct {
	// Question is the number of a settled question of the run. The fork goes on from when it was
	// settled: it knows what came before, and nothing of what came after. 0: the fork goes on from
	// the end of a run that has ended.
	Question int
	// Reply is what the fork's agent is told in place of the stored answer; at most MaxReplyText
	// bytes. Empty: the stored answer, of a person or an automatic decision, or, from the end of a
	// run, whatever its last turn was given. It is required where there is no such thing: after a
	// question that nobody answered, and at the end of a run that has succeeded.
	Reply string
	// Actor is who gives the Reply, as in Reply.Actor.
	Actor string
	// ID is the fork's own id, as Spec.ID: to call Fork again with the same id and the same At
	// returns the fork that is there. Empty: one is made.
	ID string
	// Change, if it is set, may change the specification that the fork inherits: labels, Meta, Key,
	// Priority, limits, a budget, the pool. The engine stays, since the session is its own.
	// NotBefore is not inherited. Change must do the same each time: it may be called several
	// times.
	Change func(*Spec)
}

// ErrCannotFork: the run cannot be forked there, for the reason that the error has. Nothing was
// stored.
var ErrCannotFork = errors.New("lifecycle: run cannot be forked there")

// maxOrigin bounds what a fork inherits, in bytes: its history above all.
const maxOrigin = 16 << 20

// Fork stores a new run that goes on from a settled question of the run with this id, or from its
// end, and returns it (J6). The other run is not changed, and may still be going on. The fork is a
// run like any other: it is queued, has its own log, attempts, limits and folders, and its
// questions begin at 1. It inherits
//
//   - the session as it was there. The first turn has the engine branch it: the engine must be an
//     engine.Brancher, and each decides which sessions it can branch. A fork from the end of a run
//     that has got no answer yet begins anew with the prompt and needs no session;
//   - the history up to there: Inherited returns it, and engine.Turn.Inherited has it;
//   - the answer: the stored one, or At.Reply;
//   - the specification, as far as At.Change does not change it. Files are not copied: a fork
//     without a WorkDir begins with an empty folder.
//
// Run.ForkedFrom names the run that a fork goes on from; Query.ForkedFrom finds the forks of a run.
//
// Errors, with nothing written: ErrNotFound, ErrCannotFork (the question is open or was never
// asked, the run has not ended, its session is that of a resident process or was not kept by an
// earlier release, the engine cannot branch it), ErrSpecConflict (At.ID is taken by another run),
// an *ArgumentError or *SpecError. After any other error, of the context too, the fork may or may
// not have been stored: call again with the same At.ID. A client without engines cannot ask the
// engine: then the fork's first turn fails with SESSION_RESUME_FAILED if the session cannot be
// branched.
//
// Nodes of releases that know no forks do not execute one, and cannot read it.
func (c *Client) Fork(ctx context.Context, id string, at At) (Run, error) {
	if err := c.checkRun(ctx, id); err != nil {
		return Run{}, err
	}
	if err := at.check(); err != nil {
		return Run{}, err
	}
	now := commitTime(c.clock)
	run, body, err := c.draftFork(ctx, id, &at, now)
	if err != nil {
		if fork, ok := c.existingFork(ctx, id, &at); ok { // the other run has changed since, or was pruned
			return fork, nil
		}
		return Run{}, err
	}
	cm, err := decideSubmission(&run, body)
	if err != nil {
		return Run{}, err
	}
	err = c.commit(ctx, cm)
	if errors.Is(err, store.ErrExists) {
		return c.existingRun(ctx, run)
	}
	if err != nil {
		return Run{}, fmt.Errorf("lifecycle: fork run %s: %w", id, err)
	}
	c.due.note(run.NotBefore)
	return cm.Run, nil
}

// Inherited returns the history that a fork has from the run that it was forked from, in order, up
// to the answer that it began with. The questions have their numbers in the run that asked them.
// It is empty for a run that is no fork.
func (c *Client) Inherited(ctx context.Context, id string) ([]Record, error) {
	if err := c.checkRun(ctx, id); err != nil {
		return nil, err
	}
	body, err := c.store.Spec(ctx, id)
	if err != nil {
		return nil, err
	}
	_, from, err := decodeSubmitted(id, body)
	if err != nil || from == nil {
		return nil, err
	}
	return from.History, nil
}

// check says what is wrong with the arguments.
func (at *At) check() error {
	if at.Question < 0 {
		return &ArgumentError{"at.Question", fmt.Sprint(at.Question), "the number of a settled question, or 0 for " +
			"the run's end", nil}
	}
	if at.ID != "" && !idPattern.matches(at.ID) {
		return &ArgumentError{"at.ID", quote(at.ID), wantID, nil}
	}
	reply := Reply{ID: 1, Text: at.Reply, Actor: at.Actor}
	if at.Reply == "" {
		if at.Actor != "" {
			return &ArgumentError{"at.Actor", quote(at.Actor), "nothing, since there is no Reply", nil}
		}
		return nil
	}
	err := reply.Validate()
	var fault *FieldError
	if errors.As(err, &fault) {
		return &ArgumentError{"at." + map[string]string{"Text": "Reply", "Actor": "Actor"}[fault.Field], fault.Value,
			fault.Want, err}
	}
	return err
}

// origin is what a fork inherits. It is stored with the fork's specification and never changes.
type origin struct {
	// RunID and CreatedAt identify the run that has the session, and WorkDir is its working folder,
	// empty for its own.
	RunID     string    `json:"run_id"`
	CreatedAt time.Time `json:"created_at"`
	WorkDir   string    `json:"work_dir,omitempty"`
	// Session is the session that the first turn branches; nil: there is none.
	Session *SessionHandle `json:"session,omitempty"`
	AtRest  bool           `json:"at_rest,omitempty"` // see engine.BranchPoint
	History []Record       `json:"history,omitempty"`
	Answer  *Answer        `json:"answer,omitempty"` // that the first turn is given
}

// draftFork reads the run and makes the record and the stored specification of its fork.
func (c *Client) draftFork(ctx context.Context, id string, at *At, now time.Time) (run Run, body []byte, _ error) {
	source, err := c.forkSource(ctx, id)
	if err != nil {
		return Run{}, nil, err
	}
	from, err := source.fork(at, now)
	if err != nil {
		return Run{}, nil, err
	}
	spec := source.spec
	spec.NotBefore = time.Time{}
	if run, body, err = draftRun(spec, id, at, now); err != nil {
		return Run{}, nil, err
	}
	if err := c.checkBranch(ctx, run.Engine, from); err != nil {
		return Run{}, nil, err
	}
	if run.ID == "" {
		run.ID = newID(now)
	}
	if run.ID == id {
		return Run{}, nil, fmt.Errorf("%w: %s; a fork needs an id of its own", ErrSpecConflict, id)
	}
	run.Answer = from.Answer
	inherited, err := json.Marshal(from)
	if err == nil && len(inherited) > maxOrigin {
		err = fmt.Errorf("%w: run %s has a history of %s, a fork inherits at most %s", ErrCannotFork, id,
			bytesOf(len(inherited)), bytesOf(maxOrigin))
	}
	return run, slices.Concat([]byte("["), inherited, []byte(","), body, []byte("]")), err
}

// draftRun makes the record of a fork with the specification, as At changes it.
func draftRun(spec Spec, id string, at *At, now time.Time) (run Run, body []byte, err error) {
	engineName := spec.Engine
	if at.Change != nil {
		at.Change(&spec)
	}
	spec.ID = at.ID
	if spec.Engine != engineName {
		return Run{}, nil, &SpecError{"Engine", quote(spec.Engine), "that of the run, " + quote(engineName), nil}
	}
	if spec.WorkDir, err = absolute(spec.WorkDir); err != nil {
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
	asked, err := json.Marshal([]any{run.SpecDigest, run.ForkedFrom, at.Reply, at.Actor})
	run.SpecDigest = digestOf(asked)
	return run, body, err
}

// decodeSubmitted decodes the stored form of a specification. That of a fork stands in a list,
// after what the fork inherits.
func decodeSubmitted(id string, body []byte) (spec Spec, from *origin, err error) {
	if len(body) > 0 && body[0] == '[' {
		var parts []json.RawMessage
		if err = json.Unmarshal(body, &parts); err == nil && len(parts) == 2 {
			from = new(origin)
			err, body = json.Unmarshal(parts[0], from), parts[1]
		}
		if err != nil {
			return Spec{}, nil, fmt.Errorf("lifecycle: stored spec of fork %s: %w", id, err)
		}
	}
	spec, err = decodeSpec(id, body)
	return spec, from, err
}

// existingFork returns the run with the fork's id if an earlier call like this one has stored it.
func (c *Client) existingFork(ctx context.Context, id string, at *At) (fork Run, ok bool) {
	if at.ID == "" {
		return Run{}, false
	}
	var body []byte
	err := c.store.Confirm(ctx, func(r store.Reader) (err error) { // the caller relies on it (J8)
		if fork, err = r.Run(ctx, at.ID); err == nil && fork.ForkedFrom != nil {
			body, err = r.Spec(ctx, at.ID)
		}
		return err
	})
	if err != nil || body == nil {
		return Run{}, false
	}
	spec, _, err := decodeSubmitted(at.ID, body)
	if err != nil {
		return Run{}, false
	}
	again, _, err := draftRun(spec, id, at, fork.CreatedAt)
	return fork, err == nil && again.SpecDigest == fork.SpecDigest
}

// forkSource is a run that is to be forked, as it was read.
type forkSource struct {
	run     Run
	spec    Spec
	from    *origin // if it is a fork itself
	settled []Record
}

// forkSource reads a run through Confirm: what the fork goes on from must be durable (J8).
func (c *Client) forkSource(ctx context.Context, id string) (s forkSource, _ error) {
	var body []byte
	err := c.store.Confirm(ctx, func(r store.Reader) (err error) {
		if s.run, s.settled, err = r.History(ctx, id); err == nil {
			body, err = r.Spec(ctx, id)
		}
		return err
	})
	if err == nil {
		s.spec, s.from, err = decodeSubmitted(id, body)
	}
	if err != nil {
		return s, fmt.Errorf("lifecycle: fork run %s: %w", id, err)
	}
	return s, nil
}

// refuse is the error of a point from which the run cannot be forked.
func (s *forkSource) refuse(format string, args ...any) error {
	return fmt.Errorf("%w: run %s: %s", ErrCannotFork, s.run.ID, fmt.Sprintf(format, args...))
}

// fork returns what a fork inherits. It is a pure function of what was read.
func (s *forkSource) fork(at *At, now time.Time) (*origin, error) {
	if at.Question > 0 {
		return s.forkQuestion(at.Question, at, now)
	}
	if !s.run.State.Terminal() {
		return nil, s.refuse("it is %s and has not ended; name a settled question", s.run.State)
	}
	if n := len(s.settled); n > 0 && s.settled[n-1].Resolution == interaction.Abandoned {
		return s.forkQuestion(s.settled[n-1].Question.ID, at, now)
	}
	return s.forkEnd(at, now)
}

// inherit is what every fork inherits, with the first so many of the settled questions.
func (s *forkSource) inherit(settled int) *origin {
	o := &origin{RunID: s.run.ID, CreatedAt: s.run.CreatedAt, WorkDir: s.spec.WorkDir}
	if s.from != nil {
		o.History = slices.Clone(s.from.History)
	}
	for _, r := range s.settled[:settled] {
		r.Session, r.Key, r.Digest = nil, "", ""
		o.History = append(o.History, r)
	}
	return o
}

// forkQuestion forks the run at a settled question.
func (s *forkSource) forkQuestion(number int, at *At, now time.Time) (*origin, error) {
	i := slices.IndexFunc(s.settled, func(r Record) bool { return r.Question.ID == number })
	switch {
	case s.run.Pending != nil && s.run.Pending.ID == number:
		return nil, s.refuse("question %d is open; reply to it, or fork the run once it is settled", number)
	case i < 0:
		return nil, s.refuse("it has asked %d questions, and question %d is none of them", s.run.Interactions, number)
	case s.run.Profile == fsm.ProfileStickyProcess:
		return nil, s.refuse("its session is in its resident process, which cannot be branched")
	}
	record := s.settled[i]
	session := record.Session
	untouched := s.run.Attempt == record.Question.Attempt // no turn has started since the question
	if session == nil && untouched {
		session = s.run.Session
	}
	if session == nil {
		return nil, s.refuse("the session of question %d was not kept: the question was settled by a release that did "+
			"not keep it, or the engine had none", number)
	}
	o := s.inherit(i + 1)
	o.Session, o.AtRest = session, s.run.State.Terminal() && untouched
	switch {
	case at.Reply != "":
		answer := Reply{ID: number, Text: at.Reply, Actor: at.Actor}.Answer(now)
		o.Answer = &answer
		o.History[len(o.History)-1] = interaction.Settle(record.Question, answer, "", "")
	case record.Resolution == interaction.Abandoned:
		return nil, s.refuse("nobody has answered question %d; give a Reply", number)
	default:
		answer := answerOf(&record)
		o.Answer = &answer
	}
	return o, nil
}

// forkEnd forks a run that did not end while its question was open: its last turn is executed
// again, or its session goes on with a further message.
func (s *forkSource) forkEnd(at *At, now time.Time) (*origin, error) {
	o := s.inherit(len(s.settled))
	o.AtRest = true
	switch n := len(s.settled); {
	case at.Reply != "":
		answer := Reply{Text: at.Reply, Actor: at.Actor}.Answer(now)
		o.Answer = &answer
	case s.run.State == fsm.StateSucceeded:
		return nil, s.refuse("it has succeeded; say by Reply what is to be done next, or name a settled question")
	case n > 0:
		answer := answerOf(&s.settled[n-1])
		o.Answer = &answer
	case s.from != nil:
		o.Answer = s.from.Answer
	}
	switch {
	case o.Answer == nil: // the prompt, and nothing else: the fork begins anew
	case s.run.Profile == fsm.ProfileStickyProcess:
		return nil, s.refuse("its session was in its resident process, which has ended")
	case s.run.Session != nil:
		o.Session = s.run.Session
	case s.from != nil && s.from.Session != nil: // the fork that it is has not branched it
		o.RunID, o.CreatedAt, o.WorkDir = s.from.RunID, s.from.CreatedAt, s.from.WorkDir
		o.Session, o.AtRest = s.from.Session, s.from.AtRest
	default:
		return nil, s.refuse("it has no session that could be told something")
	}
	return o, nil
}

// answerOf is the answer that settled a question.
func answerOf(r *Record) Answer {
	if r.Resolution == interaction.AutoDecideTimeout {
		answer := interaction.NewAutoDecision(r.Question).Answer(r.ResolvedAt)
		answer.Text = r.Response
		return answer
	}
	return Answer{ID: r.Question.ID, Resolution: r.Resolution, Text: r.Response, Actor: r.Actor,
		AcceptedAt: r.ResolvedAt}
}

// checkBranch asks the engine whether it can branch the session, if there is one and this process
// has the engine.
func (c *Client) checkBranch(ctx context.Context, name string, from *origin) error {
	if len(c.engines) == 0 {
		return nil
	}
	e := c.engines[name]
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
	what := EngineCall{Engine: name, Method: "CanBranch", RunID: from.RunID}
	if err := c.call(ctx, checkLimit, what, func(ctx context.Context) error {
		return brancher.CanBranch(ctx, from.point())
	}); err != nil {
		return fmt.Errorf("%w: engine %q: %w", ErrCannotFork, name, err)
	}
	return nil
}

// point is where the session is branched, without the folders.
func (o *origin) point() engine.BranchPoint {
	return engine.BranchPoint{RunID: o.RunID, Session: *o.Session.Clone(), AtRest: o.AtRest}
}

// branchSession has the engine branch the session that a fork inherits, in its first turn, and
// stores the new one. If the turn is repeated before that is stored, it is branched again.
func (t *turn) branchSession(ctx context.Context, e engine.Engine, in engine.Turn) (*engine.SessionHandle, error) {
	brancher, ok := e.(engine.Brancher)
	if !ok {
		return nil, fmt.Errorf("the engine cannot branch the session of run %s", t.origin.RunID)
	}
	point := t.origin.point()
	point.WorkDir, point.HomeDir = t.node.foldersOf(t.origin)
	var session engine.SessionHandle
	var failure *engine.Failure
	err := t.node.guarded(t.noteCall("Branch"), func() (err error) {
		session, err = brancher.Branch(ctx, point, in)
		if err != nil {
			failure = failureOf(fsm.CodeSessionResumeFailed, err)
		}
		return nil
	})
	if err == nil && failure != nil {
		err = failure
	}
	if err == nil {
		err = (*sink)(t).Session(ctx, session)
	}
	if err != nil {
		return nil, err
	}
	return forEngine(t.lastStored().Session), nil
}
