package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

const (
	inboxPrefix = "inbox-"
	// inboxGroups is the number of audiences, inboxAsked the number of questions that a run asks
	// together.
	inboxGroups, inboxAsked = 50, 10
	inboxReads              = 2000
)

// others is the audience of parked runs, whose inboxes are not read.
var others = &lifecycle.AskPolicy{To: &lifecycle.Audience{Groups: []string{"others"}}}

func groupOf(i int) string { return fmt.Sprintf("group-%d", i%inboxGroups) }

// askGroups asks ten questions, each for one group, continuing with the groups after the previous
// run's.
func askGroups(runID string) (engine.Outcome, error) {
	var run int
	if _, err := fmt.Sscanf(runID[strings.LastIndexByte(runID, '-')+1:], "%d", &run); err != nil {
		return engine.Outcome{}, err
	}
	var all []engine.Question
	for i := range inboxAsked {
		all = append(all, engine.Question{Kind: interaction.Confirm, Prompt: "The release is built. Shall I ship it?",
			To: &engine.Audience{Groups: []string{groupOf(run*inboxAsked + i)}}})
	}
	return engine.AskAll(all...), nil
}

// readInbox opens this number of questions for 50 groups, and repeatedly reads the first inbox
// page of one person in each group.
func (r *report) readInbox(ctx context.Context, h *host, questions int, pr *progress) error {
	runs := max(1, questions/inboxAsked)
	var parked atomic.Int64
	all := make(chan struct{})
	unwatch := h.store.Watch(func(hint store.Hint) {
		if strings.HasPrefix(hint.RunID, inboxPrefix) && hint.State == fsm.StateWaitingUser &&
			parked.Add(1) == int64(runs) {
			close(all)
		}
	})
	defer unwatch()
	b := pr.start("runs with ten questions", runs)
	id := newIDs(inboxPrefix)
	for i := range runs {
		job := spec()
		job.ID = id(i)
		if _, err := h.Submit(ctx, job); err != nil {
			return err
		}
		b.at(i)
	}
	b.end()
	select {
	case <-all:
	case <-ctx.Done():
		return ctx.Err()
	}
	b = pr.start("first pages of an inbox", inboxReads)
	defer b.end()
	times := make([]time.Duration, 0, inboxReads)
	for i := range inboxReads {
		group := groupOf(i)
		begun := time.Now()
		page, err := h.Inbox(ctx, lifecycle.InboxQuery{For: lifecycle.Actor{ID: "ada", Groups: []string{group}}})
		times = append(times, time.Since(begun))
		if err != nil {
			return err
		}
		for _, q := range page.Questions {
			if q.Question.To == nil || q.Question.To.Groups[0] != group {
				return fmt.Errorf("question %d of run %s is not for %s", q.Question.ID, q.RunID, group)
			}
		}
		r.InboxPage = len(page.Questions)
		b.at(i)
	}
	r.InboxP50, r.InboxP99 = percentile(times, 50), percentile(times, 99)
	return nil
}
