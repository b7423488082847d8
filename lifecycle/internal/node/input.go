package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle/internal/decide"
	"github.com/interlude-go/interlude/store"
)

// forEngine copies a stored handle, since the engine may change it.
func forEngine(h *engine.SessionHandle) *engine.SessionHandle {
	if h == nil {
		return nil
	}
	given := *h
	return &given
}

// input returns the turn as the engine sees it.
func (t *turn) input(dirs Workspace, answers []interaction.Answer) engine.Turn {
	d := t.currentDialect()
	var inherited, withheld []interaction.Record
	if t.origin != nil {
		inherited, withheld = t.origin.History, t.origin.WithheldRecords()
	}
	return engine.Turn{
		RunID: t.record.ID, Attempt: t.record.Attempt, Epoch: t.epoch, Mode: t.record.Mode,
		Prompt: promptFor(d, t.spec, dirs.Artifacts),
		Plain:  d.Plain, Nonce: d.Nonce,
		Answers: answers, OutputSchema: t.spec.OutputSchema,
		WorkDir: dirs.Work, ArtifactDir: dirs.Artifacts, TranscriptDir: dirs.Transcripts, HomeDir: dirs.Home,
		Session: forEngine(t.record.Session), Meta: maps.Clone(t.spec.Meta), Inherited: inherited, Withheld: withheld,
		InputJSON: t.spec.Input, Labels: maps.Clone(t.record.Labels), Clock: t.node.proc.Clock, History: (*history)(t),
		Holds: t.node.proc.Host.Holds(t.record),
	}
}

type history turn

// Records implements engine.History.
func (h *history) Records(ctx context.Context) ([]interaction.Record, error) {
	_, records, err := store.ReadHistory(ctx, h.node.proc.Store, h.call.RunID)
	if errors.Is(err, store.ErrCorrupt) {
		return nil, heldForRows(err)
	}
	return records, err
}

// Record implements engine.History.
func (h *history) Record(ctx context.Context, question int) (record interaction.Record, _ error) {
	t := (*turn)(h)
	err := t.untilAnswered(ctx, "question not read", func() (err error) {
		record, err = t.node.proc.Store.Interaction(ctx, t.call.RunID, question)
		return err
	})
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrCorrupt) {
		err = heldForRows(fmt.Errorf("question %d: %w", question, err))
	}
	return record, err
}

// heldForRows holds the run: an operator may restore the rows from a backup.
func heldForRows(err error) error {
	return &engine.Failure{Code: fsm.CodeEngineFailed, Held: true, Err: err}
}

// promptFor returns the host's prompt, with instructions for an agent unless the engine is Go code.
func promptFor(d decide.Dialect, spec Spec, artifacts string) string {
	if d.Plain {
		return spec.Prompt
	}
	return interaction.Patch(interaction.PromptParts{
		Task: spec.Prompt, Mode: spec.Mode, ArtifactDir: artifacts, OutputSchema: spec.OutputSchema, Nonce: d.Nonce,
		Questions: d.Questions,
	})
}

// answers returns the turn's answers; none in a first turn, and none once ctx has ended. Answers to
// several questions come from the run's history or a fork's inheritance.
func (t *turn) answers(ctx context.Context) ([]interaction.Answer, error) {
	run := t.record
	switch {
	case len(run.Answers) > 0:
		return slices.Clone(run.Answers), nil
	case run.Together == nil:
		return nil, nil
	case run.Together.Inherited:
		return t.origin.Answers, nil
	}
	var answers []interaction.Answer
	err := t.untilAnswered(ctx, "answers not read", func() (err error) {
		answers, err = t.readAnswers(ctx, run.Together)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrCorrupt):
		return nil, heldForRows(err)
	case err != nil && ctx.Err() != nil:
		return nil, nil // the engine is not called
	}
	return answers, err
}

// readAnswers reads the answers to questions that were asked together, in their order.
func (t *turn) readAnswers(ctx context.Context, asked *store.Together) ([]interaction.Answer, error) {
	all := make([]interaction.Answer, 0, asked.Asked)
	for number := asked.First; number < asked.First+asked.Asked; number++ {
		record, err := t.node.proc.Store.Interaction(ctx, t.record.ID, number)
		if err != nil {
			return nil, fmt.Errorf("answer to question %d: %w", number, err)
		}
		all = append(all, record.Answer())
	}
	return all, nil
}

// repairInput returns the input of a repair round: the output's fault, and the session of the
// previous round or the stored one.
func (t *turn) repairInput(in engine.Turn, session *engine.SessionHandle, fault string) engine.Turn {
	in.Repair, in.Answers, in.Session = t.repairText(fault), nil, session
	if session == nil {
		in.Session = forEngine(t.lastStored().Session)
	}
	return in
}

func (t *turn) repairText(why string) string {
	d := t.currentDialect()
	if d.Plain {
		return why
	}
	return interaction.RepairText(t.spec.Mode, d.Nonce, why)
}

func (t *turn) repairable(ev *decide.Evidence) bool {
	run := t.lastStored()
	return decide.Repairable(&run, ev)
}

// reportRepair commits the output that the agent is asked to correct, the session id, and a warning
// with the reason.
func (t *turn) reportRepair(ctx context.Context, ev *decide.Evidence, why string) error {
	var events []fcmp.Payload
	if said := ev.Said(); said != nil {
		events = append(events, said)
	}
	requested := interaction.Diagnostic{Code: fsm.WarnOutputRepairRequested, Detail: decide.Shortened(why)}
	events = append(events, decide.Warning(requested))
	return (*sink)(t).report(ctx, ev.Session, events...)
}

// branchSession branches the inherited session in a fork's first turn, and stores the new session.
// A turn repeated before that branches it again.
func (t *turn) branchSession(ctx context.Context, e engine.Engine, in engine.Turn) (*engine.SessionHandle, error) {
	brancher, ok := e.(engine.Brancher)
	if !ok {
		return nil, fmt.Errorf("the engine cannot branch the session of run %s", t.origin.RunID)
	}
	point := t.origin.BranchPoint()
	point.WorkDir, point.HomeDir = t.node.cfg.Folders.OfSource(t.origin)
	var session engine.SessionHandle
	var failure *engine.Failure
	err := t.node.proc.Guard(t.noteCall("Branch"), func() (err error) {
		session, err = brancher.Branch(ctx, point, in)
		if err != nil {
			failure = decide.Failure(fsm.CodeSessionResumeFailed, err)
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
