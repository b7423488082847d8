package console_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// step waits for a text on the terminal, and then types keys.
type step struct{ shown, keys string }

// stepped calls the program on a terminal with these steps.
func stepped(t *testing.T, steps []step, args ...string) (status int, shown string) {
	t.Helper()
	status, shown = onTerminal(t, func(unread string) (string, int) {
		if len(steps) == 0 {
			return "", 0
		}
		at := strings.Index(unread, steps[0].shown)
		if at < 0 {
			return "", 0
		}
		keys, read := steps[0].keys, at+len(steps[0].shown)
		steps = steps[1:]
		return keys, read
	}, args...)
	require.Empty(t, steps, shown)
	return status, shown
}

func pays(eur int) engine.Question {
	q := payment
	q.Subject = &engine.Subject{Tool: "pay", Arguments: fmt.Appendf(nil, `{"eur":%d,"to":{"name":"Ada"}}`, eur)}
	return q
}

// N3 N7: on a terminal, inbox is a list to decide in by keys: approve, reject with a reason, take
// back, several at once with what differs, and full answers. Decisions are sent at the end.
func TestN7TheInboxIsAListToDecideIn(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	for i := range 3 {
		o.asks(fmt.Sprint("pay-", i), pays(10+i))
	}
	risky := pays(99)
	risky.Subject.Risk = "the money is gone"
	o.asks("risk", risky)
	o.asks("ship", confirm)
	o.asks("paint", colour)
	status, shown := stepped(t, []step{
		{"6 open questions", "x"},
		{"11", "x"},
		{"eur 10", "xa"},
		{"Approve 3 calls of pay? y/n", "y"},
		{"approve: 3 answers", "u"},
		{"3 answers taken back", "r"},
		{"reason (optional)", "too dear\r"},
		{"reject: 1 answer", "jja"},
		{"accept the risk (the money is gone)? y/n", "n"},
		{"; u takes it back", "a"},
		{"accept the risk (the money is gone)? y/n", "y"},
		{"approve: 1 answer", "/ship"},
		{"Ship it?", "\r"},
		{"Ship it?", "r"},
		{"no: 1 answer", "\x1b"},
		{"Which colour?", "/paint\r\r"},
		{ready, "\x1b[B\x1b[B\r"},
		{"1 answer sent", "\x1bq"},
	}, "inbox", "-db", o.db, "-as", "ada")
	require.Equal(t, command.Succeeded, status, shown)
	history := func(run string) lifecycle.Record {
		all, err := o.lc.History(t.Context(), run)
		require.NoError(t, err)
		require.NotEmpty(t, all, run)
		require.Equal(t, "ada", all[0].Actor)
		return all[0]
	}
	require.Equal(t, lifecycle.Reject, history("pay-0").Decision)
	require.Equal(t, "too dear", history("pay-0").Response)
	require.Equal(t, lifecycle.Approve, history("risk").Decision)
	require.Equal(t, "no", history("ship").Response)
	require.Equal(t, "blue", history("paint").Response)
	for _, run := range []string{"pay-1", "pay-2"} { // taken back
		r, err := o.lc.Get(t.Context(), run)
		require.NoError(t, err)
		require.Equal(t, lifecycle.StateWaitingUser, r.State)
	}
}

// N7: the key m writes a note, which the list counts and the question shows with the author's name in
// the directory; it decides nothing.
func TestN7NotesAreWrittenOnATerminal(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	o.asks("ship", confirm)
	_, err := o.lc.As(lifecycle.Actor{ID: "bob"}).Note(t.Context(), "ship", 1,
		lifecycle.Note{Text: "Wait\x1b[2J\nfor Eve."})
	require.NoError(t, err)
	people := filepath.Join(t.TempDir(), "people.yaml")
	require.NoError(t, os.WriteFile(people, []byte("people: [{id: bob, name: \"Bob \\u202eStone\"}]"), 0o600))
	inbox := []string{"inbox", "-db", o.db, "-as", "ada", "-directory", people}
	status, shown := stepped(t, []step{
		{"1 note", ""},
		{`note by Bob \u{202E}Stone (bob)`, "m"},
		{"esc goes back", "a note\x1b"},
		{"j k move", "m"},
		{"esc goes back", "ar Eve agrees.\r"},
		{"the note is stored", "q"},
	}, inbox...)
	require.Equal(t, command.Succeeded, status, shown)
	require.NotContains(t, shown, "Wait\x1b[2J")
	status, shown = stepped(t, []step{{"2 notes", ""}, {"ar Eve agrees.", "q"}}, inbox...)
	require.Equal(t, command.Succeeded, status, shown)
	run, err := o.lc.Get(t.Context(), "ship")
	require.NoError(t, err)
	require.Equal(t, lifecycle.StateWaitingUser, run.State)
	notes := run.Open[0].Notes.All()
	require.Len(t, notes, 2)
	require.Equal(t, []string{"ar Eve agrees.", "ada"}, []string{notes[1].Text, notes[1].Actor})
	require.Contains(t, o.call("", "show", "-directory", people, "ship").well(), "Stone (bob)")
}

// N7 N4: an approval whose arguments do not fit is decided only after they were shown to their end,
// and pasted text decides nothing.
func TestN4TheWholeQuestionIsShownFirst(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	long := make(map[string]int)
	for i := range 40 {
		long[fmt.Sprintf("member-%02d", i)] = i
	}
	body, err := json.Marshal(long)
	require.NoError(t, err)
	q := payment
	q.Subject = &engine.Subject{Tool: "pay", Arguments: body}
	o.asks("long", q)
	status, shown := stepped(t, []step{
		{"member-00", "\x1b[200~a\x1b[201~a"},
		{"more lines: space shows the rest, then decide", " "},
		{"member-39", "a"},
		{"approve: 1 answer", "q"},
	}, "inbox", "-db", o.db, "-as", "ada")
	require.Equal(t, command.Succeeded, status, shown)
	r, err := o.lc.Wait(t.Context(), "long")
	require.NoError(t, err)
	require.Equal(t, lifecycle.StateSucceeded, r.State)
}

// N7: a question that another person settles within the time to undo stays with that answer, and the
// person learns who won.
func TestN7AnotherAnswerWins(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	o.asks("ship", confirm)
	steps := []step{{"Ship it?", "a"}, {"yes: 1 answer", ""}}
	status, shown := onTerminal(t, func(unread string) (string, int) {
		if len(steps) == 0 {
			return "", 0
		}
		at := strings.Index(unread, steps[0].shown)
		if at < 0 {
			return "", 0
		}
		keys, read := steps[0].keys, at+len(steps[0].shown)
		if steps = steps[1:]; len(steps) == 0 {
			_, err := o.lc.Reply(t.Context(), "ship", lifecycle.Reply{ID: 1, Text: "no",
				Actor: lifecycle.Actor{ID: "bob"}})
			if err != nil {
				t.Error(err)
			}
			keys = "q"
		}
		return keys, read
	}, "inbox", "-db", o.db, "-as", "ada")
	require.Equal(t, command.Refused, status, shown)
	history, err := o.lc.History(t.Context(), "ship")
	require.NoError(t, err)
	require.Equal(t, "bob", history[0].Actor)
}

// N4: a difference is named by its path, so that no member can hide another.
func TestN4WhatDiffersIsNamedByItsPlace(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	for i, run := range []string{"one", "two"} {
		q := payment
		q.Subject = &engine.Subject{Tool: "pay", Arguments: fmt.Appendf(nil, `{"to.bank":%d,"to":{"bank":7}}`, i)}
		o.asks(run, q)
	}
	stepped(t, []step{{"2 open questions", "x"}, {"[x]", "x"}, {`"to.bank" 1`, "q"}}, "inbox", "-db", o.db, "-as", "ada")
}

// N7: e begins with the arguments, Esc leaves each control without an answer, and a form is named by its fields.
func TestN7AnAnswerCanBeLeft(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	o.asks("pay", pays(10))
	o.asks("form", engine.Question{Kind: engine.FillFields, Prompt: "Where to?", Schema: json.RawMessage(
		`{"type":"object","required":["city"],"properties":{"city":{"type":"string","title":"City"},"zip":{"type":"string"}}}`)})
	status, shown := stepped(t, []step{
		{"2 open questions", "e"},
		{"Arguments, as JSON", ""},
		{"esc leave", "\x1b"},
		{"still open", "j"},
		{"a form: City, zip (optional)", "\r"},
		{"esc leave", "\x1b"},
		{"still open", "q"},
	}, "inbox", "-db", o.db, "-as", "ada")
	require.Equal(t, command.Succeeded, status, shown)
	require.NotContains(t, shown, "properties")
}
