package stories

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// reportChanges returns the changes since the last report: messages, the readers' input, and each
// changed run with its new events and the notes between them.
func (w *world) reportChanges() (string, error) {
	text := w.shared.drainMessages() + w.drainReaders()
	for _, id := range w.runs {
		changes, err := w.reportRun(id)
		if err != nil {
			return "", err
		}
		text += changes
	}
	return text, nil
}

func (w *world) reportRun(id string) (string, error) {
	last := w.reported[id]
	r, err := w.base.Run(w.ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		if last.ID == "" {
			return "", nil
		}
		w.reported[id] = store.Run{}
		return id + ": is gone\n", nil
	}
	if err != nil {
		return "", err
	}
	notes := w.shared.drainNotes(id)
	if r.Version == last.Version && r.RecoveredAt.Equal(last.RecoveredAt) && len(notes) == 0 {
		return "", nil
	}
	events, err := w.events(id, last.Seq, store.MaxBatch)
	if err != nil {
		return "", err
	}
	w.reported[id] = r
	text := w.formatRun(&r) + "\n"
	for len(events)+len(notes) > 0 {
		if len(notes) > 0 && (len(events) == 0 || notes[0].after < events[0].Seq) {
			text += "  " + notes[0].text + "\n"
			notes = notes[1:]
			continue
		}
		line, err := w.formatEvent(events[0])
		if err != nil {
			return "", err
		}
		text += line + "\n"
		events = events[1:]
	}
	return text, nil
}

func (w *world) formatRun(r *store.Run) string {
	text := fmt.Sprintf("%s: %s", r.ID, r.State)
	add := func(is bool, format string, args ...any) {
		if is {
			text += " " + fmt.Sprintf(format, args...)
		}
	}
	add(r.Attempt > 0, "attempt=%d", r.Attempt)
	add(!r.State.Terminal(), "slot=%s", map[bool]string{true: "yes", false: "no"}[r.Slot])
	add(r.Owner != "", "owner=%s", w.shared.nodeName(r.Owner))
	if len(r.Open) > 0 {
		open := fmt.Sprint(r.Open[0].ID)
		for _, q := range r.Open[1:] {
			open += fmt.Sprintf(",%d", q.ID)
		}
		add(true, "question=%s", open)
		add(r.Deadline.IsZero(), "deadline=none")
	}
	add(!r.Deadline.IsZero(), "deadline=%s", w.formatTime(r.Deadline))
	if len(r.Answers) > 0 {
		add(true, "answer=%d", r.Answers[0].ID)
	}
	if t := r.Together; t != nil && len(r.Open) == 0 && !t.Inherited {
		add(true, "answers=%d-%d", t.First, t.First+t.Asked-1)
	}
	add(r.Held(), "held")
	add(r.AutoDecisions > 0, "auto_decisions=%d", r.AutoDecisions)
	add(r.Recovery != store.RecoveryNone, "recovery=%s", r.Recovery)
	return text
}

// formatTime formats a time relative to the story's beginning.
func (w *world) formatTime(t time.Time) string { return "+" + t.Sub(w.start).String() }

// omittedFields are event fields that stories omit: known times, and the submitted values.
var omittedFields = []string{"updated_at", "accepted_at", "asked_at", "closed_at", "contract_version",
	"max_auto_decisions", "pool", "profile", "from", "to", "trigger", "terminal"}

// defaultValues are not shown.
var defaultValues = map[string]string{"default_decision_policy": `"engine_judgement"`}

// leadingFields come first, in this order.
var leadingFields = []string{"mode", "interaction_id", "kind", "prompt", "options", "code"}

// formatEvent formats an event in one line, with the fields that matter.
func (w *world) formatEvent(e store.Event) (string, error) {
	event, err := fcmp.Decode(e.Body)
	if err != nil {
		return "", err
	}
	var data map[string]json.RawMessage
	if err := json.Unmarshal(event.Data, &data); err != nil {
		return "", err
	}
	text := fmt.Sprintf("  %d %s", e.Seq, event.Type)
	if event.Type == fcmp.TypeStateChanged {
		text += " " + formatStateChange(event)
	}
	keys := slices.Sorted(maps.Keys(data))
	slices.SortStableFunc(keys, func(a, b string) int { return rank(a) - rank(b) })
	for _, k := range keys {
		omitted := slices.Contains(omittedFields, k) && (k != "to" || event.Type != fcmp.TypeChanged)
		if !omitted && defaultValues[k] != string(data[k]) {
			text += fmt.Sprintf(" %s=%s", k, w.formatValue(data[k]))
		}
	}
	return text, nil
}

func rank(key string) int {
	if i := slices.Index(leadingFields, key); i >= 0 {
		return i
	}
	return len(leadingFields)
}

// formatValue formats a JSON value: a word without quotation marks, a time, options by their
// labels.
func (w *world) formatValue(v json.RawMessage) string {
	var word string
	var moment time.Time
	var options []fcmp.Option
	switch {
	case json.Unmarshal(v, &moment) == nil:
		return w.formatTime(moment)
	case json.Unmarshal(v, &word) == nil && word != "" && !strings.ContainsAny(word, " \t\n\"=<>&\\"):
		return word
	case json.Unmarshal(v, &options) == nil:
		labels := make([]string, len(options))
		for i, o := range options {
			labels[i] = o.Label
		}
		return strings.Join(labels, ",")
	}
	return string(v)
}

// formatStateChange formats a change of state: from, to, why, and how the run ended.
func formatStateChange(e fcmp.Event) string {
	var c fcmp.StateChanged
	if err := e.Decode(&c); err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("%s -> %s, %s", c.From, c.To, c.Trigger)
	if c.Terminal == nil {
		return text
	}
	if c.Terminal.Error != nil {
		text += fmt.Sprintf(", %s %q", c.Terminal.Error.Code, c.Terminal.Error.Message)
	}
	if len(c.Terminal.Warnings) > 0 {
		text += fmt.Sprintf(", warnings %s", strings.Join(c.Terminal.Warnings, " "))
	}
	return text
}

// sentinels are the errors that a caller can distinguish, by their names.
var sentinels = []struct {
	name string
	err  error
}{
	{"lifecycle.ErrInvalidSpec", lifecycle.ErrInvalidSpec}, {"lifecycle.ErrSpecConflict", lifecycle.ErrSpecConflict},
	{"lifecycle.ErrInvalidReply", lifecycle.ErrInvalidReply}, {"lifecycle.ErrNotWaiting", lifecycle.ErrNotWaiting},
	{"lifecycle.ErrSettled", lifecycle.ErrSettled}, {"lifecycle.ErrKeyConflict", lifecycle.ErrKeyConflict},
	{"lifecycle.ErrTerminal", lifecycle.ErrTerminal}, {"lifecycle.ErrNotHeld", lifecycle.ErrNotHeld},
	{"lifecycle.ErrCannotFork", lifecycle.ErrCannotFork}, {"lifecycle.ErrNotAsked", lifecycle.ErrNotAsked},
	{"lifecycle.ErrNotDeputy", lifecycle.ErrNotDeputy},
	{"lifecycle.ErrVoted", lifecycle.ErrVoted}, {"lifecycle.ErrClaimed", lifecycle.ErrClaimed},
	{"lifecycle.ErrReassigned", lifecycle.ErrReassigned}, {"lifecycle.ErrNotAllowed", lifecycle.ErrNotAllowed},
	{"lifecycle.ErrQuestionChanged", lifecycle.ErrQuestionChanged},
	{"lifecycle.ErrRunChanged", lifecycle.ErrRunChanged}, {"lifecycle.ErrUnknownPool", lifecycle.ErrUnknownPool},
	{"lifecycle.ErrNotFound", lifecycle.ErrNotFound}, {"lifecycle.ErrServing", lifecycle.ErrServing},
	{"lifecycle.ErrCursorBeyondEnd", lifecycle.ErrCursorBeyondEnd}, {"store.ErrConflict", store.ErrConflict},
	{"lifecycle.ErrInvalidArgument", lifecycle.ErrInvalidArgument},
	{"store.ErrStaleEpoch", store.ErrStaleEpoch}, {"store.ErrInvalid", store.ErrInvalid},
	{"the answer got lost", errUnheard}, {"the store cannot be reached", errCut},
}

// formatError formats an error by its sentinel and its type's content. Its text is left out, since
// it may differ between stores.
func formatError(err error) string {
	name := "an error of no class: " + err.Error()
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			name = s.name
			break
		}
	}
	var spec *lifecycle.SpecError
	var wait *lifecycle.WaitError
	var settled *lifecycle.SettledError
	var terminal *lifecycle.TerminalError
	var field *interaction.FieldError
	var form *interaction.ValueError
	var changed *interaction.ChangedError
	var notAsked *interaction.NotAskedError
	var voted *interaction.VotedError
	var notDeputy *interaction.NotDeputyError
	var claimed *interaction.ClaimedError
	var reassigned *interaction.ReassignedError
	var argument *lifecycle.ArgumentError
	switch {
	case errors.As(err, &spec):
		name += fmt.Sprintf(" Field=%s Value=%s Want=%q", spec.Field, spec.Value, spec.Want)
	case errors.As(err, &wait):
		name += fmt.Sprintf(" ID=%d State=%s Pending=%d Asked=%d", wait.ID, wait.State, wait.Pending, wait.Asked)
	case errors.As(err, &settled):
		name += fmt.Sprintf(" ID=%d Resolution=%s State=%s", settled.ID, settled.Resolution, settled.State)
	case errors.As(err, &terminal):
		name += fmt.Sprintf(" State=%s", terminal.State)
	case errors.As(err, &form):
		for _, f := range form.Faults {
			name += fmt.Sprintf(" %q: %q", f.Pointer, f.Want)
		}
	case errors.As(err, &changed):
		name += fmt.Sprintf(" Question=%d", changed.Question.ID)
	case errors.As(err, &notAsked):
		name += fmt.Sprintf(" Actor=%q To=%q", notAsked.Actor.ID, &notAsked.To)
	case errors.As(err, &notDeputy):
		name += fmt.Sprintf(" Actor=%q For=%q", notDeputy.Actor.ID, notDeputy.Actor.For)
	case errors.As(err, &claimed):
		name += fmt.Sprintf(" ID=%d Claim=%q", claimed.ID, claimed.Claim.Actor)
	case errors.As(err, &reassigned):
		name += fmt.Sprintf(" ID=%d To=%q", reassigned.ID, reassigned.To)
	case errors.As(err, &voted):
		name += fmt.Sprintf(" ID=%d Vote=%q", voted.ID, voted.Vote.Actor+" "+string(voted.Vote.Decision))
	case errors.As(err, &field):
		name += fmt.Sprintf(" Field=%s Value=%q Want=%q", field.Field, field.Value, field.Want)
	case errors.As(err, &argument):
		name += fmt.Sprintf(" Argument=%s Value=%q Want=%q", argument.Argument, argument.Value, argument.Want)
	}
	return "error: " + name + "\n"
}
