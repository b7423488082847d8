package scenario_test

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

// news is all that has happened since it was last told: what was said, and each run that has
// changed, with its events.
func (w *world) news() (string, error) {
	text := w.board.heard() + w.followed()
	for _, id := range w.runs {
		told, known := w.told[id]
		if !known {
			told = store.Run{}
		}
		r, err := w.base.Run(w.ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			if told.ID != "" {
				text += id + ": is gone\n"
				w.told[id] = store.Run{}
			}
			continue
		}
		if err != nil {
			return "", err
		}
		notes := w.board.take(id)
		if r.Version == told.Version && len(notes) == 0 {
			continue
		}
		events, err := w.events(id, told.Seq)
		if err != nil {
			return "", err
		}
		w.told[id] = r
		text += w.status(&r) + "\n"
		for len(events)+len(notes) > 0 {
			if len(notes) > 0 && (len(events) == 0 || notes[0].after < events[0].Seq) {
				text += "  " + notes[0].text + "\n"
				notes = notes[1:]
				continue
			}
			line, err := w.eventLine(events[0])
			if err != nil {
				return "", err
			}
			text += line + "\n"
			events = events[1:]
		}
	}
	return text, nil
}

// status is where a run stands, in a line.
func (w *world) status(r *store.Run) string {
	text := fmt.Sprintf("%s: %s", r.ID, r.State)
	add := func(is bool, format string, args ...any) {
		if is {
			text += " " + fmt.Sprintf(format, args...)
		}
	}
	add(r.Attempt > 0, "attempt=%d", r.Attempt)
	add(!r.State.Terminal(), "slot=%s", map[bool]string{true: "yes", false: "no"}[r.Slot])
	add(r.Owner != "", "owner=%s", w.board.nodeName(r.Owner))
	if r.Pending != nil {
		add(true, "question=%d", r.Pending.ID)
		add(r.Deadline.IsZero(), "deadline=none")
	}
	add(!r.Deadline.IsZero(), "deadline=%s", w.at(r.Deadline))
	add(r.Answer != nil, "answer=%d", answered(r))
	add(r.AutoDecisions > 0, "auto_decisions=%d", r.AutoDecisions)
	add(r.Recovery != store.RecoveryNone, "recovery=%s", r.Recovery)
	return text
}

func answered(r *store.Run) int {
	if r.Answer == nil {
		return 0
	}
	return r.Answer.ID
}

// at is a moment, counted from the story's beginning.
func (w *world) at(t time.Time) string { return "+" + t.Sub(w.begun).String() }

// untold are fields of events that a story does without: times, which are known, and what was
// submitted.
var untold = []string{"updated_at", "accepted_at", "asked_at", "contract_version", "max_auto_decisions", "pool",
	"profile", "from", "to", "trigger", "terminal"}

// usual are values that go without saying.
var usual = map[string]string{"default_decision_policy": `"engine_judgement"`}

// first are the fields that come first.
var first = []string{"mode", "interaction_id", "kind", "prompt", "options", "code"}

// eventLine is an event, with the fields that matter.
func (w *world) eventLine(e store.Event) (string, error) {
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
		text += " " + changed(event)
	}
	keys := slices.Sorted(maps.Keys(data))
	slices.SortStableFunc(keys, func(a, b string) int { return rank(a) - rank(b) })
	for _, k := range keys {
		if !slices.Contains(untold, k) && usual[k] != string(data[k]) {
			text += fmt.Sprintf(" %s=%s", k, w.bare(data[k]))
		}
	}
	return text, nil
}

func rank(key string) int {
	if i := slices.Index(first, key); i >= 0 {
		return i
	}
	return len(first)
}

// bare is a JSON value as a story shows it: a word without quotation marks, a moment, options by
// their labels.
func (w *world) bare(v json.RawMessage) string {
	var word string
	var moment time.Time
	var options []fcmp.Option
	switch {
	case json.Unmarshal(v, &moment) == nil:
		return w.at(moment)
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

// changed is a change of state: from, to, why, and how the run ended.
func changed(e fcmp.Event) string {
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

// sentinels are the errors that a caller can tell apart, as the library calls them.
var sentinels = []struct {
	name string
	err  error
}{
	{"lifecycle.ErrInvalidSpec", lifecycle.ErrInvalidSpec}, {"lifecycle.ErrSpecConflict", lifecycle.ErrSpecConflict},
	{"lifecycle.ErrInvalidReply", lifecycle.ErrInvalidReply}, {"lifecycle.ErrNotWaiting", lifecycle.ErrNotWaiting},
	{"lifecycle.ErrSettled", lifecycle.ErrSettled}, {"lifecycle.ErrKeyConflict", lifecycle.ErrKeyConflict},
	{"lifecycle.ErrTerminal", lifecycle.ErrTerminal},
	{"lifecycle.ErrUnknownPool", lifecycle.ErrUnknownPool}, {"lifecycle.ErrNotFound", lifecycle.ErrNotFound},
	{"lifecycle.ErrServing", lifecycle.ErrServing},
	{"lifecycle.ErrCursorBeyondEnd", lifecycle.ErrCursorBeyondEnd},
	{"store.ErrConflict", store.ErrConflict}, {"store.ErrStaleEpoch", store.ErrStaleEpoch}, {"store.ErrInvalid",
		store.ErrInvalid},
	{"the answer got lost", errUnheard}, {"the store cannot be reached", errCut},
}

// fault is an error by its sentinel, with what its type carries; texts are the stores' own.
func fault(err error) string {
	name := "an error of no class: " + err.Error()
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			name = s.name
			break
		}
	}
	var spec *lifecycle.SpecError
	var waits *lifecycle.WaitError
	var settled *lifecycle.SettledError
	var terminal *lifecycle.TerminalError
	var field *interaction.FieldError
	switch {
	case errors.As(err, &spec):
		name += fmt.Sprintf(" Field=%s Value=%s Want=%q", spec.Field, spec.Value, spec.Want)
	case errors.As(err, &waits):
		name += fmt.Sprintf(" ID=%d State=%s Pending=%d Asked=%d", waits.ID, waits.State, waits.Pending, waits.Asked)
	case errors.As(err, &settled):
		name += fmt.Sprintf(" ID=%d Resolution=%s State=%s", settled.ID, settled.Resolution, settled.State)
	case errors.As(err, &terminal):
		name += fmt.Sprintf(" State=%s", terminal.State)
	case errors.As(err, &field):
		name += fmt.Sprintf(" Field=%s Value=%q Want=%q", field.Field, field.Value, field.Want)
	}
	return "error: " + name + "\n"
}
