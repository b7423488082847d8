package console_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
)

// step waits for a text on the terminal, calls then, and types keys.
type step struct {
	shown, keys string
	then        func()
}

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
		now := steps[0]
		steps = steps[1:]
		if now.then != nil {
			now.then()
		}
		return now.keys, at + len(now.shown)
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
		{shown: "6 open questions", keys: "x"},
		{shown: "11", keys: "x"},
		{shown: "eur 10", keys: "xa"},
		{shown: "Approve 3 calls of pay? y/n", keys: "y"},
		{shown: "approve: 3 answers", keys: "u"},
		{shown: "3 answers taken back", keys: "r"},
		{shown: "reason (optional)", keys: "too dear\r"},
		{shown: "reject: 1 answer", keys: "jja"},
		{shown: "accept the risk? y/n (the money is gone)", keys: "n"},
		{shown: "; u takes it back", keys: "a"},
		{shown: "accept the risk? y/n (the money is gone)", keys: "y"},
		{shown: "approve: 1 answer", keys: "/ship"},
		{shown: "Ship it?", keys: "\r"},
		{shown: "Ship it?", keys: "r"},
		{shown: "no: 1 answer", keys: "\x1b"},
		{shown: "Which colour?", keys: "/paint\r\r"},
		{shown: ready, keys: "\x1b[B\x1b[B\r"},
		{shown: "1 answer sent", keys: "\x1bq"},
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
		{shown: "1 note", keys: ""},
		{shown: `note by Bob \u{202E}Stone (bob)`, keys: "m"},
		{shown: "esc keeps it", keys: "ar\x1b"},
		{shown: "[draft]", keys: "m"},
		{shown: "note: ar", keys: " Eve agrees.\r"},
		{shown: "the note is stored", keys: "q"},
	}, inbox...)
	require.Equal(t, command.Succeeded, status, shown)
	require.NotContains(t, shown, "Wait\x1b[2J")
	status, shown = stepped(t, []step{{shown: "2 notes", keys: ""}, {shown: "ar Eve agrees.", keys: "q"}}, inbox...)
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
		{shown: "member-00", keys: "\x1b[200~a\x1b[201~a"},
		{shown: "more lines: space shows the rest, then decide", keys: " "},
		{shown: "member-39", keys: "a"},
		{shown: "approve: 1 answer", keys: "q"},
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
	status, shown := stepped(t, []step{{shown: "Ship it?", keys: "a"}, {"yes: 1 answer", "q", func() {
		_, err := o.lc.Reply(t.Context(), "ship", lifecycle.Reply{ID: 1, Text: "no", Actor: lifecycle.Actor{ID: "bob"}})
		assert.NoError(t, err)
	}}}, "inbox", "-db", o.db, "-as", "ada")
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
	stepped(t, []step{{shown: "2 open questions", keys: "x"}, {shown: "[x]", keys: "x"}, {shown: `"to.bank" 1`, keys: "q"}}, "inbox", "-db", o.db, "-as", "ada")
}

// N3 N7 N8: questions of all kinds are answered and sent on a terminal. Esc in a control keeps the typed
// text, and files are opened before the answer.
func TestN7N8TenQuestionsAreAnsweredOnATerminal(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	risky := pays(420)
	risky.Subject.Risk = "it cannot be called back"
	votes := payment
	votes.Need = 2
	release := engine.ConfirmOf("Release 1.2?")
	release.Options = []engine.Option{{Label: "Release it", Value: "go", Yes: true}, {Label: "Not yet", Value: "wait"}}
	for _, asked := range []struct {
		run string
		q   engine.Question
	}{
		{"approve", payment}, {"choose", colour}, {"confirm", confirm}, {"edit", risky}, {"files", filesToOpen},
		{"form", engine.Question{Kind: engine.FillFields, Prompt: "Who is it?", Schema: json.RawMessage(`{"type":"object",
			"required":["name","address"],"properties":{"name":{"type":"string"},"age":{"type":"integer"},
			"address":{"type":"object","title":"Address","required":["street","city"],
			"properties":{"street":{"type":"string"},"city":{"type":"string"}}}}}`)}},
		{"named", engine.Question{Kind: engine.FillFields, Prompt: "Fly?", RequiredFields: []string{"From", "To"}}},
		{"reason", payment}, {"release", release},
		{"risk", engine.Question{Kind: engine.RiskAck, Prompt: "The table is locked."}},
		{"text", engine.Question{Kind: engine.OpenText, Prompt: "How do we book it?"}}, {"votes", votes},
	} {
		o.asks(asked.run, asked.q)
	}
	search := func(run string) string { return "/" + run + "\r" }
	status, shown := stepped(t, []step{
		{shown: "12 open questions", keys: search("approve")},
		{shown: "approval, asked", keys: "a"},
		{shown: "approve: 1 answer", keys: search("choose")},
		{shown: "choice, asked", keys: "a"},
		{shown: "(choice): enter answers it", keys: "\r"},
		{shown: "enter selects", keys: "2\r"},
		{shown: "1 answer sent", keys: search("confirm")},
		{shown: "yes or no, asked", keys: "r"},
		{shown: "no: 1 answer", keys: search("edit")},
		{shown: "be called back", keys: "de"},
		{shown: "Arguments, as JSON", keys: "\x1b[A\x1b[A\x1b[A\x1b[A\x1b[F\x7f\x7f\x7f1,"},
		{shown: `"eur": 41,`, keys: "\x1b"},
		{shown: "[draft]", keys: "e"},
		{shown: `"eur": 41,`, keys: "\r"},
		{shown: `"eur": 41,`, keys: ""},
		{shown: "Approve this call of pay?", keys: "y"},
		{shown: "1 answer sent", keys: search("files")},
		{shown: "plan.txt (text/plain, 11 bytes): o opens it", keys: "o"},
		{shown: "file 1 of 2: plan.txt", keys: ""},
		{shown: `1. \u{001B}build`, keys: "a"},
		{shown: "esc shows the question again", keys: "o"},
		{shown: "a copy is at", keys: "\x1b"},
		{shown: "o opens it", keys: "a"},
		{shown: "yes: 1 answer", keys: search("form")},
		{shown: "a form: name, age (optional), Address", keys: "\r"},
		{shown: "esc leave", keys: "Ada\r"},
		{shown: "Address (address), street", keys: "Main St\r"},
		{shown: "Address (address), city", keys: "Os\x1b"},
		{shown: "[draft]", keys: "\r"},
		{shown: "Address (address), city", keys: "lo\r"},
		{shown: "> Done", keys: "\r"},
		{shown: "age: no answer", keys: "\r"},
		{shown: "1 answer sent", keys: search("named")},
		{shown: "From:", keys: "\r"},
		{shown: "esc leave", keys: "Oslo\r"},
		{shown: "esc leave", keys: "Rome\r"},
		{shown: "1 answer sent", keys: search("reason")},
		{shown: "approval, asked", keys: "r"},
		{shown: "esc keeps it for later", keys: "too \x1b"},
		{shown: "[draft]", keys: "r"},
		{shown: "reason (optional): too", keys: "dear\r"},
		{shown: "reject: 1 answer", keys: search("release")},
		{shown: "Not yet", keys: "r"},
		{shown: "Not yet: 1 answer", keys: search("risk")},
		{shown: "risk to accept, asked", keys: "a"},
		{shown: "Do you accept the risk? y/n", keys: "n"},
		{shown: "; u takes it back", keys: "a"},
		{shown: "Do you accept the risk? y/n", keys: "y"},
		{shown: "yes: 1 answer", keys: search("text")},
		{shown: "free text, asked", keys: "\r"},
		{shown: "esc leave", keys: "As rent.\x1b"},
		{shown: "enter continues with what you have typed", keys: "\r"},
		{shown: "As rent.", keys: "\r"},
		{shown: "1 answer sent", keys: search("votes")},
		{shown: "0 of 2 approve", keys: "a"},
		{shown: "approve: 1 answer", keys: "q"},
	}, "inbox", "-db", o.db, "-as", "ada", "-dir", o.dir)
	require.Equal(t, command.Succeeded, status, shown)
	require.NotContains(t, shown, "white-space characters")
	for run, want := range map[string]string{"approve": "approve", "choose": "blue", "confirm": "no",
		"edit": `edit {"eur":41,"to":{"name":"Ada"}}`, "files": "yes",
		"form":  `{"name":"Ada","address":{"street":"Main St","city":"Oslo"}}`,
		"named": "From: Oslo\nTo: Rome", "reason": "reject too dear", "release": "wait", "risk": "yes",
		"text": "As rent.",
	} {
		history, err := o.lc.History(t.Context(), run)
		require.NoError(t, err)
		r := history[0]
		got := strings.TrimSpace(string(r.Decision) + " " + r.Response)
		if len(r.Value) > 0 {
			got = strings.TrimSpace(string(r.Decision) + " " + string(r.Value))
		}
		require.Equal(t, want, got, run)
		require.Equal(t, "ada", r.Actor, run)
	}
	run, err := o.lc.Get(t.Context(), "votes")
	require.NoError(t, err)
	require.Equal(t, 1, run.Open[0].Count(lifecycle.Approve))
}

// N7: e begins with the arguments, Esc leaves each control without an answer, and a form is named by its fields.
func TestN7AnAnswerCanBeLeft(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	o.asks("pay", pays(10))
	o.asks("form", engine.Question{Kind: engine.FillFields, Prompt: "Where to?", Schema: json.RawMessage(
		`{"type":"object","required":["city"],"properties":{"city":{"type":"string","title":"City"},"zip":{"type":"string"}}}`)})
	status, shown := stepped(t, []step{
		{shown: "2 open questions", keys: "e"},
		{shown: "Arguments, as JSON", keys: ""},
		{shown: "esc leave", keys: "\x1b"},
		{shown: "still open", keys: "j"},
		{shown: "a form: City, zip (optional)", keys: "\r"},
		{shown: "esc leave", keys: "\x1b"},
		{shown: "still open", keys: "q"},
	}, "inbox", "-db", o.db, "-as", "ada")
	require.Equal(t, command.Succeeded, status, shown)
	require.NotContains(t, shown, "properties")
}
