package console_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/cmd/internal/command"
	"github.com/interlude-go/interlude/cmd/internal/console"
	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/web"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/postgres/pgtest"
)

var (
	confirm = engine.Question{Kind: engine.Confirm, Prompt: "Ship it?"}
	colour  = engine.Question{Kind: engine.ChooseOne, Prompt: "Which colour?", Options: []engine.Option{
		{Label: "Red", Value: "red"}, {Label: "Blue", Value: "blue"}}}
	form = engine.Question{Kind: engine.OpenText, Prompt: "How many?", Schema: json.RawMessage(
		`{"type":"object","required":["n"],"properties":{"n":{"title":"Pieces","type":"integer","minimum":1}}}`)}
	payment = engine.Question{Kind: engine.Approval, Prompt: "May I pay?", Subject: &engine.Subject{Tool: "pay",
		Arguments: json.RawMessage(`{"eur":7}`), Title: "Pay 7 EUR"}}
)

// L1: open questions are listed, shown and answered as in every front end; a late reply learns who
// won.
func TestL1AQuestionIsListedShownAndAnswered(t *testing.T) {
	each(t, func(o *office) {
		require.Contains(t, o.call("", "inbox").well(), "no open questions")
		require.Empty(t, o.call("", "inbox", "-json").well())
		o.asks("r", colour)

		out := o.call("", "inbox").well()
		require.Regexp(t, `(?m)^RUN +NO +KIND +WAITS +DUE +QUESTION$`, out)
		require.Regexp(t, `(?m)^r +1 +choose_one +\S+ s +- +Which colour\?$`, out)
		found := lines[web.OpenQuestion](o.call("", "inbox", "-json", "-label", "team=a"))
		require.Len(t, found, 1)
		require.Equal(t, "r", found[0].RunID)
		require.Empty(t, o.call("", "inbox", "-json", "-label", "team=b").well())
		require.Empty(t, o.call("", "inbox", "-json", "-kind", "confirm").well())

		out = o.call("", "show", "r").well()
		require.Contains(t, out, "waiting_user")
		require.Contains(t, out, "? 1  Which colour?\n     1  Red  (red)\n     2  Blue  (blue)\n")

		receipt := lines[web.Receipt](o.call("", "reply", "-json", "-as", "ada", "-key", "k", "r", "2"))[0]
		require.False(t, receipt.Replayed)
		_, err := o.lc.Wait(t.Context(), "r")
		require.NoError(t, err)
		require.Contains(t, o.call("", "reply", "-as", "ada", "-key", "k", "-question", "1", "r", "blue").well(),
			"is answered, as before")
		o.call("", "reply", "-as", "bob", "-question", "1", "r", "red").refused(command.Refused,
			"too late: question 1 of r was settled by user reply of ada via cli")
		o.call("", "reply", "-question", "1", "r").refused(command.Refused, "of ada via cli")
		o.call("", "reply", "-question", "2", "r").refused(command.Refused, "no open question 2")
		o.call("", "reply", "r").refused(command.Refused, "has ended (succeeded)")

		out = o.call("", "show", "r").well()
		require.Contains(t, out, "→ blue\n     user reply of ada via cli")
		require.Contains(t, out, `"answer": "blue"`)
		shown := lines[console.Shown](o.call("", "show", "-json", "r"))[0]
		require.Equal(t, "succeeded", shown.State)
		require.Equal(t, "ada", shown.History[0].Actor)
	})
}

// L1: each kind of question accepts only its kind of answer, and the error for another answer says
// what is expected.
func TestL1EachQuestionTakesItsOwnAnswer(t *testing.T) {
	each(t, func(o *office) {
		o.asks("form", form)
		o.call("", "reply", "form", "-value", `{"n":0}`).refused(command.Misused, "/n")
		o.call("", "reply", "form", "-value", `{`).refused(command.Misused, "-value is not valid JSON")
		o.call("", "reply", "form", "seven").refused(command.Misused)
		require.Contains(t, o.call(`{"n": 7}`, "reply", "form").well(), "✓ question 1 of form is answered")

		o.asks("pay", payment)
		require.Contains(t, o.call("", "show", "pay").well(), "Pay 7 EUR\n     pay\n     {\n")
		o.call("", "reply", "pay", "yes").refused(command.Misused)
		o.call("", "reply", "pay", "-decision", "maybe").refused(command.Misused, "want approve, edit")
		o.call("", "reply", "pay", "-decision", "approve", "-seen", strings.Repeat("0", 64)).refused(command.Refused)
		o.call("", "reply", "pay", "-decision", "edit", "-value", `{"eur":5}`).well()

		risky := payment
		risky.Subject = &engine.Subject{Tool: "pay", Risk: "it is gone"}
		o.asks("risky", risky) // N1
		o.call("", "reply", "risky", "-decision", "approve").refused(command.Misused, "-accept-risk")
		o.call("", "reply", "risky", "-decision", "approve", "-accept-risk").well()
		_, err := o.lc.Wait(t.Context(), "risky")
		require.NoError(t, err)
		fork := []string{"fork", "-as", "ada", "-question", "1", "-decision", "approve", "risky"}
		o.call("", fork...).refused(command.Misused, "-accept-risk")
		o.call("", slices.Insert(fork, 1, "-accept-risk")...).well()

		o.asks("two", confirm, colour)
		o.call("", "reply", "two", "yes").refused(command.Misused, "2 open questions", "-question 1 or 2")
		o.call("yes\n", "reply", "two", "-question", "1").well()
		o.call("", "reply", "two", "-question", "2").refused(command.Misused, "want an answer on standard input")
		o.call("2\n", "reply", "-question", "2", "--", "two").well()
		run, err := o.lc.Wait(t.Context(), "two")
		require.NoError(t, err)
		require.Equal(t, lifecycle.StateSucceeded, run.State)

		theirs := confirm
		theirs.To = &engine.Audience{Users: []string{"ada"}, Groups: []string{"desk"}}
		o.asks("theirs", theirs)
		o.call("", "reply", "-as", "bob", "theirs", "yes").refused(command.Refused, "ada")
		o.call("", "reply", "-as", "", "theirs", "yes").refused(command.Misused, "-as")
		require.Empty(t, o.call("", "inbox", "-json", "-as", "bob").well())
		require.Len(t, lines[web.OpenQuestion](o.call("", "inbox", "-json", "-as", "bob", "-group", "desk")), 1)
		o.call("", "reply", "-as", "bob", "-group", "desk", "theirs", "yes").well()
	})
}

// N4 N5: a call's summary distinguishes it in lists, and prompts, contexts and results are drawn as
// Markdown.
func TestN4N5ListsShowSummariesAndMarkdownIsDrawn(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	q := payment
	q.Subject = &engine.Subject{Tool: "pay", Summary: "7 EUR to Ada\u202e"}
	q.Prompt, q.Context = "May I **pay**?", "- one\n- two"
	o.asks("r", q)
	require.Regexp(t, `(?m)^r +1 +approval .* 7 EUR to Ada\\u\{202E\}: May I \*\*pay\*\*\?$`, o.call("", "inbox").well())
	require.Contains(t, o.call("", "runs").well(), "? 7 EUR to Ada\\u{202E}: May I")
	require.Contains(t, o.call("", "show", "r").well(),
		"? 1  May I pay?\n     • one\n     • two\n     pay\n     7 EUR to Ada\\u{202E}\n")
}

// A claim is shown until it expires.
func TestAnExpiredClaimIsNotShown(t *testing.T) {
	o := open(t, filepath.Join(t.TempDir(), "runs.db"))
	o.asks("r", confirm)
	ada := o.lc.As(lifecycle.Actor{ID: "ada"})
	require.NoError(t, ada.Claim(t.Context(), "r", 1, time.Now().Add(time.Hour)))
	require.Contains(t, o.call("", "show", "r").well(), "claimed by ada until ")
	for long := 200 * time.Millisecond; ; long *= 3 {
		until := time.Now().Add(long)
		err := ada.Claim(t.Context(), "r", 1, until)
		if errors.Is(err, lifecycle.ErrInvalidArgument) && long < time.Minute {
			continue // on a busy machine the time was over before the claim
		}
		require.NoError(t, err)
		<-time.After(time.Until(until))
		break
	}
	require.NotContains(t, o.call("", "show", "r").well(), "claimed by")
}

// L3: events are printed from a cursor, and followed to the end of the run; as JSON they are a log
// for the contract's checker.
func TestL3EventsAreFollowedFromACursor(t *testing.T) {
	each(t, func(o *office) {
		o.asks("r", confirm)
		out := o.call("", "events", "r").well()
		require.Regexp(t, `(?m)^   1  \S+  conversation.started `, out)
		require.Contains(t, out, `I have a question.\u{001B}[31m`)
		require.Contains(t, out, "running → waiting_user")
		run, err := o.lc.Get(t.Context(), "r")
		require.NoError(t, err)
		require.Empty(t, o.call("", "events", "-after", "5", "r").well())
		require.EqualValues(t, 5, run.Seq)
		o.call("", "events", "-after", "6", "r").refused(command.Refused, "has only 5 events")

		followed := make(chan printed, 1)
		go func() { followed <- o.call("", "events", "-f", "-json", "r") }()
		o.call("", "reply", "r", "yes").well()
		log := (<-followed).well()
		report, err := audit.Check(strings.NewReader(log))
		require.NoError(t, err)
		require.Nil(t, report.First())
		last := o.call("", "events", "-json", "r").well()
		require.Equal(t, last, log)
		rest := o.call("", "events", "-json", "-after", "5", "r").well()
		require.True(t, strings.HasSuffix(last, rest))
	})
}

// L1: a run is canceled once, with a reason; statistics count the runs that have not ended.
func TestL1ARunIsCanceledAndTheFiguresSayWhatIsLeft(t *testing.T) {
	each(t, func(o *office) {
		o.asks("r", confirm)
		o.asks("s", confirm)
		require.Regexp(t, `(?m)^waiting +2  the oldest for `, o.call("", "stats").well())
		require.Contains(t, o.call("", "cancel", "-reason", "no more", "r").well(), "✓ run r is canceled")
		o.call("", "cancel", "r").refused(command.Refused, "run r has ended")
		require.Contains(t, o.call("", "show", "r").well(), "✗ RUN_CANCELED: no more")
		require.Equal(t, "canceled", lines[web.Run](o.call("", "cancel", "-json", "s"))[0].State)
		stats := lines[web.Stats](o.call("", "stats", "-json"))[0]
		require.Equal(t, 0, stats.Waiting)
		require.Equal(t, 1, stats.Nodes)
		require.Equal(t, "default", stats.Pools[0].Name)
		for _, verb := range []string{"show", "events", "cancel", "reply"} {
			o.call("", verb, "nobodys").refused(command.Refused, "not found")
		}
	})
}

// J8: no verb creates or migrates a database, and a problem with -db is reported in one line with
// its remedy.
func TestJ8NoVerbChangesTheSchema(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "runs.db")
	other := filepath.Join(t.TempDir(), "other.db")
	require.NoError(t, os.WriteFile(other, []byte("something else"), 0o600))
	empty := filepath.Join(t.TempDir(), "empty.db")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	t.Setenv(console.Env, "")
	for _, verb := range []string{"inbox", "stats"} {
		call(t, "", verb).refused(command.Misused, "want a database: -db", "$INTERLUDE_DB")
		call(t, "", verb, "-db", missing).refused(command.Misused, "there is no file", "interlude migrate -db "+missing)
		call(t, "", verb, "-db", empty).refused(command.Misused, "interlude migrate -db "+empty)
		call(t, "", verb, "-db", other).refused(command.Misused, "file of another program")
		call(t, "", verb, "-db", t.TempDir()).refused(command.Misused)
		call(t, "", verb, "-db", "mysql://x").refused(command.Misused, "want the path of a SQLite file")
		call(t, "", verb, "-db", missing, "-schema", "x").refused(command.Misused, "leave it out")
		call(t, "", verb, "-db", "postgres://u:secret@127.0.0.1:1/x").refused(command.Unavailable, "does not answer")
		call(t, "", verb, "-db", missing, "more").refused(command.Misused, "want no arguments")
		call(t, "", verb, "-dance").refused(command.Misused, "see interlude help "+verb)
	}
	require.NoFileExists(t, missing)
	dsn := pgtest.DSN(t)
	t.Setenv(console.Env, dsn)
	call(t, "", "inbox").refused(command.Misused, "interlude migrate -db 'postgres://")
	call(t, "", "inbox", "-limit", "0").refused(command.Misused, "want a number from 1")
}

// N7: note writes a note on an open question, and show prints it.
func TestN7ANoteIsWrittenOnTheCommandLine(t *testing.T) {
	each(t, func(o *office) {
		o.asks("two", payment, confirm)
		o.call("", "note", "-text", "Ask Eve.", "two").refused(command.Misused, "2 open questions", "-question 1 or 2")
		o.call("", "note", "-question", "2", "two").refused(command.Misused, "note.Text")
		o.call("", "note", "-question", "3", "-text", "x", "two").refused(command.Refused, "")
		require.Contains(t, o.call("", "note", "-as", "ada", "-question", "2", "-text", "Ask Eve.", "two").well(),
			"has the note on question 2")
		require.Regexp(t, `note by ada, .*: Ask Eve\.`, o.call("", "show", "two").well())
		shown := lines[console.Shown](o.call("", "show", "-json", "two"))[0]
		require.Equal(t, "Ask Eve.", shown.Questions[1].Notes[0].Text)
	})
}

// N10: with -for a deputy of the directory answers for the absent person, and for no other; the run names
// both.
func TestN10ADeputyRepliesOnTheCommandLine(t *testing.T) {
	people := filepath.Join(t.TempDir(), "people.yaml")
	require.NoError(t, os.WriteFile(people, []byte("people:\n- id: bob\n- id: carl\n"+
		"- {id: ann, deputies: [{id: bob, from: 2020-01-01, until: 2099-01-01}]}\n"), 0o600))
	each(t, func(o *office) {
		q := confirm
		q.To = &engine.Audience{Users: []string{"ann"}}
		o.asks("r", q)
		reply := func(person, absent string) printed {
			return o.call("", "reply", "-directory", people, "-as", person, "-for", absent, "r", "yes")
		}
		reply("carl", "ann").refused(command.Refused, "ann")
		reply("bob", "carl").refused(command.Refused, "carl")
		o.call("", "reply", "-as", "bob", "-for", "ann", "r", "yes").refused(command.Refused, "ann")
		record, err := o.lc.Question(t.Context(), "r", 1)
		require.NoError(t, err)
		require.Empty(t, record.Resolution)
		reply("bob", "ann").well()
		record, err = o.lc.Question(t.Context(), "r", 1)
		require.NoError(t, err)
		require.Equal(t, []string{"bob", "ann", "yes"}, []string{record.Actor, record.For(), record.Response})
		require.Contains(t, o.call("", "show", "r").well(), "bob for ann")
	})
}

// N9: an approval also counts for later calls; show lists it, and forget ends it.
func TestN9ADecisionIsRememberedOnTheCommandLine(t *testing.T) {
	each(t, func(o *office) {
		o.asks("r", payment)
		o.call("", "reply", "-decision", "approve", "-same", "/eur", "r").refused(command.Misused, "need -remember")
		o.call("", "reply", "-decision", "reject", "-remember", "1h", "r").refused(command.Misused, "-remember is set")
		o.call("", "reply", "-decision", "approve", "-remember", "1h", "-most", "/eur=6", "r").refused(command.Misused,
			"-most is \"/eur\" with the limit 6")
		o.call("", "forget", "r").refused(command.Refused, "no remembered decisions")

		o.asks("two", payment, confirm)
		o.call("", "reply", "-as", "ada", "-question", "1", "-decision", "approve", "-remember", "1h", "-same", "/eur",
			"-most", "/eur=7.50", "two").well()
		out := o.call("", "show", "two").well()
		require.Regexp(t, `also approved until .*: pay, the same /eur, /eur up to 7.50\s+\(question 1, ada\)`, out)
		require.Contains(t, out, "interlude forget")
		shown := lines[console.Shown](o.call("", "show", "-json", "two"))[0]
		require.Equal(t, "ada", shown.Remembered[0].Actor)
		o.call("", "forget", "-question", "2", "two").refused(command.Refused, "no decision about question 2")
		require.Contains(t, o.call("", "forget", "-as", "bob", "two").well(), "no longer remembers")
		require.Empty(t, lines[console.Shown](o.call("", "show", "-json", "two"))[0].Remembered)
	})
}
