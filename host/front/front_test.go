package front_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/host/front/fronttest"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/hostile"
	"github.com/interlude-go/interlude/lifecycle"
)

// bare is the thinnest front end: the package itself.
type bare struct{ fronttest.Config }

func (b bare) caller(person string) *front.Caller {
	return front.For(b.Client, lifecycle.Actor{ID: person, Via: "bare"})
}

func (b bare) Start(ctx context.Context, person, prompt string) (string, error) {
	s := b.Spec(person, prompt)
	s.ID = front.NewRunID(person, "bare")
	run, err := b.caller(person).Client().Submit(ctx, s)
	return run.ID, err
}

var errUnknown = errors.New("no such run")

func fault(err error) error {
	if err == nil {
		return nil
	}
	f := front.FaultOf(err)
	if f.Code == "NOT_FOUND" || f.Code == "NOT_ALLOWED" {
		return errUnknown
	}
	return f
}

func (b bare) See(ctx context.Context, person, run string) (s fronttest.Seen, _ error) {
	limit, stop := context.WithTimeout(ctx, 200*time.Millisecond)
	defer stop()
	var last *front.View
	for step, err := range b.caller(person).Follow(limit, run, front.FromNow) {
		if err != nil && limit.Err() == nil {
			return s, fault(err)
		}
		if step.View != nil {
			last = step.View
		}
	}
	if last == nil {
		return s, ctx.Err()
	}
	s.Ended, s.Result = last.Ended(), last.Run.FinalText
	for _, q := range last.Asks {
		s.Questions = append(s.Questions, q.ID)
	}
	if !last.Settled() {
		s.Status = last.Status()
	}
	return s, nil
}

func (b bare) Answer(ctx context.Context, person, run, id string, a fronttest.Answer) error {
	_, err := b.caller(person).Send(ctx, run, front.Answer{Exchange: id, Question: a.Question, Text: a.Text,
		Decision: a.Decision})
	return fault(err)
}

func (b bare) Dismiss(context.Context, string, string, int) error { return nil }

// unnumbered is a protocol whose answers name no question.
type unnumbered struct{ bare }

func (u unnumbered) Answer(ctx context.Context, person, run, id string, a fronttest.Answer) error {
	v, err := u.caller(person).Load(ctx, run)
	if err == nil && len(v.Asks) > 1 {
		return u.bare.Answer(ctx, person, run, id, a)
	}
	a.Question = 0
	return u.bare.Answer(ctx, person, run, id, a)
}

// P1, P2, P3, N1, N10: the package itself passes the table of traps.
func TestP2TheCorePassesTheTraps(t *testing.T) {
	fronttest.Run(t, func(_ testing.TB, c fronttest.Config) fronttest.FrontEnd { return bare{c} })
}

func TestP2TheCorePassesTheTrapsWithAnswersThatNameNoQuestion(t *testing.T) {
	fronttest.Run(t, func(_ testing.TB, c fronttest.Config) fronttest.FrontEnd { return unnumbered{bare{c}} })
}

// P5: an id that the client chose depends on the principal; a new id is of use to its principal only.
func TestP5IdsBelongToTheirPrincipal(t *testing.T) {
	require.NotEqual(t, front.RunID("ada", "ui", "chat-1"), front.RunID("eve", "ui", "chat-1"))
	require.NotEqual(t, front.RunID("ab", "c", "d"), front.RunID("a", "bc", "d"))
	require.NoError(t, lifecycle.Spec{ID: front.RunID("ada", "ui", "../x\x00"), Prompt: "Go."}.Validate())
	id := front.NewRunID("ada", "mcp")
	require.NoError(t, lifecycle.Spec{ID: id, Prompt: "Go."}.Validate())
	require.True(t, front.Owns("ada", "mcp", id))
	for _, c := range [][3]string{{"eve", "mcp", id}, {"ada", "ui", id}, {"ada", "mcp", id + "0"}, {"ada", "mcp", ""},
		{"ada", "mcp", "mcp-"}, {"ada", "mcp", "mcp-a-"}} {
		require.False(t, front.Owns(c[0], c[1], c[2]), "%q", c)
	}
}

func TestFormsAreFlat(t *testing.T) {
	risk := &engine.Subject{Tool: "pay", Risk: "money"}
	for name, c := range map[string]struct {
		question      engine.Question
		schema        string // empty: no flat form
		content, want string // the reply as text, value or decision
	}{
		"text": {engine.Question{Kind: engine.OpenText},
			`{"type":"object","properties":{"answer":{"type":"string","title":"Your answer"}},"required":["answer"]}`,
			`{"answer":"tea"}`, "tea"},
		"confirm": {engine.ConfirmOf("Ship it?"),
			`{"type":"object","properties":{"answer":{"type":"string","title":"Your answer","oneOf":[` +
				`{"const":"yes","title":"Yes"},{"const":"no","title":"No"}]}},"required":["answer"]}`,
			`{"answer":"no"}`, "no"},
		"options, or other words": {engine.Question{Kind: engine.ChooseOne,
			Options: []engine.Option{{Label: "Red", Value: "r"}}},
			`{"type":"object","properties":{"answer":{"type":"string","title":"Your answer","oneOf":[` +
				`{"const":"r","title":"Red (r)"}]},"other":{"type":"string","title":"Or in your own words"}}}`,
			`{"other":"blue"}`, "blue"},
		"risk": {engine.Question{Kind: engine.RiskAck, Only: true},
			`{"type":"object","properties":{"answer":{"type":"string","title":"Your answer","oneOf":[` +
				`{"const":"yes","title":"Yes: I accept the risk"},{"const":"no","title":"No"}]}},"required":["answer"]}`,
			`{"answer":"yes"}`, "yes"},
		"approval": {engine.Question{Kind: engine.Approval, Subject: risk},
			`{"type":"object","properties":{"decision":{"type":"string","title":"Your decision","oneOf":[` +
				`{"const":"approve","title":"Approve, and accept the risk: money"},{"const":"reject","title":"Reject"}]},` +
				`"comment":{"type":"string","title":"Comment"}},"required":["decision"]}`,
			`{"decision":"approve"}`, "approve"},
		"named fields": {engine.Question{Kind: engine.FillFields, RequiredFields: []string{"name"}},
			`{"type":"object","properties":{"field1":{"type":"string","title":"name"},"other":{"type":"string",` +
				`"title":"More to say"}},"required":["field1"]}`,
			`{"field1":"Ada"}`, "name: Ada"},
		"schema": {engine.Question{Kind: engine.FillFields, Schema: []byte(`{"type":"object","required":["n"],"properties":{
			"n":{"type":"integer","minimum":1,"multipleOf":2},"mail":{"type":"string","format":"email","pattern":"@"},
			"colors":{"type":"array","items":{"type":"string","enum":["r","g"]}}}}`)},
			`{"type":"object","properties":{"n":{"type":"integer","minimum":1},"mail":{"type":"string","format":"email"},` +
				`"colors":{"type":"array","items":{"type":"string","enum":["r","g"]}}},"required":["n"]}`,
			`{"n":2}`, `{"n":2}`},
		"one value": {engine.Question{Kind: engine.FillFields, Schema: []byte(`{"type":"boolean"}`)},
			`{"type":"object","properties":{"value":{"type":"boolean"}},"required":["value"]}`, `{"value":true}`, `true`},
		"nested": {question: engine.Question{Kind: engine.FillFields, Schema: []byte(
			`{"type":"object","properties":{"a":{"type":"object"}}}`)}},
		"reference": {question: engine.Question{Kind: engine.FillFields, Schema: []byte(
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`)}},
		"null": {question: engine.Question{Kind: engine.FillFields, Schema: []byte(
			`{"type":"object","properties":{"a":{"type":["string","null"]}}}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			q := c.question
			q.ID = 3
			form, ok := front.FormOf(&q)
			require.Equal(t, c.schema != "", ok)
			if !ok {
				return
			}
			require.Equal(t, c.schema, string(form.Schema))
			a, err := form.Read(json.RawMessage(c.content))
			require.NoError(t, err)
			require.Equal(t, c.want, a.Text+string(a.Value)+string(a.Decision))
			require.Equal(t, 3, a.Question)
			require.NoError(t, interaction.Reply{ID: 3, Text: a.Text, Value: a.Value, Decision: a.Decision,
				Seen:       a.Seen,
				AcceptRisk: a.AcceptRisk}.ValidateFor(q))
			for _, bad := range []string{``, `null`, `[]`, `{`, `{"answer":1}`, `{"decision":"edit"}`, `{}`} {
				if a, err = form.Read(json.RawMessage(bad)); err == nil {
					require.NotEmpty(t, a.Value, "%s: only a schema judges it", bad)
				}
			}
		})
	}
}

// N3: an integer that the client may have rounded is refused.
func TestN3RoundedNumbersAreRefused(t *testing.T) {
	form, ok := front.FormOf(&engine.Question{Kind: engine.FillFields, Schema: []byte(`{"type":"integer"}`)})
	require.True(t, ok)
	_, err := form.Read([]byte(`{"value":9007199254740993}`))
	require.ErrorAs(t, err, new(front.Fault))
}

// P5: whatever a client sends as the values of a form, reading it ends in an answer or a Fault.
func FuzzForms(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"x","title":"X"}]}}}`),
		[]byte(`{"a":"x"}`))
	f.Add([]byte(`{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}}`), []byte(`{"value":["x"]}`))
	f.Add([]byte(`{"type":"integer"}`), []byte(`{"value":1e400}`))
	f.Fuzz(func(t *testing.T, schema, content []byte) {
		questions := []engine.Question{
			{Kind: engine.FillFields, Schema: schema}, {Kind: engine.Confirm}, {Kind: engine.OpenText},
			{Kind: engine.Approval, Subject: &engine.Subject{Tool: "t", Arguments: schema, Risk: string(content)}},
			{Kind: engine.FillFields, RequiredFields: []string{string(schema)}},
		}
		for i := range questions {
			front.Message(&questions[i])
			form, ok := front.FormOf(&questions[i])
			if !ok {
				continue
			}
			if !json.Valid(form.Schema) {
				t.Fatalf("schema %q becomes %q", schema, form.Schema)
			}
			if _, err := form.Read(content); err != nil && !errors.As(err, new(front.Fault)) {
				t.Fatalf("%q: %v", content, err)
			}
		}
	})
}

// N9: a question that the host's policy decides is not asked. When it becomes visible, a follower
// gets a new view, although no event reports it.
func TestN9AHiddenQuestionIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, err := lifecycle.New(lifecycle.Config{Logger: slog.New(slog.DiscardHandler),
			Engine: engine.Func(func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
				return engine.Ask(engine.Question{Kind: lifecycle.Approval, Prompt: "Pay?",
					Subject: &interaction.Subject{Tool: "pay"}}), nil
			}),
			Policy: func(ctx context.Context, _ lifecycle.Proposal) (lifecycle.Ruling, error) {
				<-ctx.Done() // longer than it has time
				return lifecycle.Ruling{}, ctx.Err()
			}})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- lc.Serve(ctx) }()
		_, err = lc.Submit(ctx, lifecycle.Spec{ID: "r", Prompt: "x"})
		require.NoError(t, err)
		synctest.Wait()
		ada := front.For(lc.Client, lifecycle.Actor{ID: "ada"})
		v, err := ada.Load(ctx, "r")
		require.NoError(t, err)
		require.Empty(t, v.Asks)
		require.Equal(t, v.Run.Open[0].HiddenUntil(), v.Recheck)
		require.Equal(t, "waits for the host's policy", v.Status())
		begun := time.Now()
		for step, err := range ada.Follow(ctx, "r", front.FromNow) {
			require.NoError(t, err)
			if step.View != nil {
				v = *step.View
			}
		}
		require.Len(t, v.Asks, 1)
		require.InDelta(t, 5, time.Since(begun).Seconds(), 0.1)
		stop()
		require.NoError(t, <-served)
		lc.Close()
	})
}

// principals are the people for whom each person may act.
type principals map[string][]lifecycle.Principal

func (p principals) Principals(_ context.Context, id string, _ time.Time) ([]lifecycle.Principal, error) {
	return p[id], nil
}

// N10: a deputy decides for the absent person, whose name is shown, and gets the same receipt for the
// same answer, also if several people must approve.
func TestN10ADeputyDecidesForTheAbsentPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lc, err := lifecycle.New(lifecycle.Config{Logger: slog.New(slog.DiscardHandler),
			Directory: principals{"bob": {{ID: "ann"}}},
			Engine: engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
				if len(t.Answers) > 0 {
					return engine.Done("paid"), nil
				}
				pay := engine.Question{Kind: lifecycle.Approval, Prompt: "Pay?", Need: 2,
					To: &lifecycle.Audience{Users: []string{"ann", "carl"}}, Subject: &interaction.Subject{Tool: "pay"}}
				own := engine.Question{Kind: engine.OpenText, Prompt: "Why?",
					To: &lifecycle.Audience{Users: []string{"ann", "bob"}}}
				return engine.AskAll(pay, own), nil
			})})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- lc.Serve(ctx) }()
		_, err = lc.Submit(ctx, lifecycle.Spec{ID: "r", Prompt: "x"})
		require.NoError(t, err)
		synctest.Wait()
		bob, carl := front.For(lc.Client, lifecycle.Actor{ID: "bob"}), front.For(lc.Client, lifecycle.Actor{ID: "carl"})
		v, err := bob.Load(ctx, "r")
		require.NoError(t, err)
		require.Len(t, v.Asks, 2)
		require.Equal(t, map[int]string{1: "ann"}, v.Absent, "the second question is bob's own, too")
		require.Contains(t, v.Message(&v.Asks[0]), "You answer for ann.\n\nPay?")
		require.NotContains(t, v.Message(&v.Asks[1]), "ann")
		as, err := front.For(lc.Client, lifecycle.Actor{ID: "bob", For: "ann"}).Load(ctx, "r")
		require.NoError(t, err)
		require.Equal(t, map[int]string{1: "ann", 2: "ann"}, as.Absent, "the host has named the person")

		yes := front.Answer{Exchange: "e", Question: 1, Decision: lifecycle.Approve}
		send := func(c *front.Caller, replayed bool) {
			t.Helper()
			r, err := c.Send(ctx, "r", yes)
			require.NoError(t, err)
			require.Equal(t, replayed, r.Replayed)
		}
		send(bob, false)
		send(bob, true)
		v, err = bob.Load(ctx, "r")
		require.NoError(t, err)
		require.Len(t, v.Asks, 1, "one vote counts for both")
		send(carl, false)
		send(bob, true)
		why := front.Answer{Exchange: "e", Question: 2, Text: "so"}
		for _, again := range []bool{false, true} {
			r, err := bob.Send(ctx, "r", why)
			require.NoError(t, err)
			require.Equal(t, again, r.Replayed)
		}
		all, err := lc.History(ctx, "r")
		require.NoError(t, err)
		require.Equal(t, "ann", all[0].Question.Votes[0].For)
		require.Empty(t, all[1].For())
		stop()
		require.NoError(t, <-served)
		lc.Close()
	})
}

// displayed returns the texts of a form that a client shows.
func displayed(t *testing.T, schema []byte) (text string) {
	t.Helper()
	var collect func(name string, v any)
	collect = func(name string, v any) {
		switch v := v.(type) {
		case string:
			if name != "const" {
				text += v + "\n"
			}
		case []any:
			for _, inner := range v {
				collect(name, inner)
			}
		case object:
			for name, inner := range v {
				text += name + "\n"
				collect(name, inner)
			}
		}
	}
	var v any
	require.NoError(t, json.Unmarshal(schema, &v))
	collect("", v)
	return text
}

type object = map[string]any

// N4: a dialog shows every character of an agent's text. A question whose form would hide a
// character is answered on the host's page.
func TestN4DialogsShowHostileText(t *testing.T) {
	for _, c := range hostile.Cases() {
		form, flat := front.FormOf(&c.Question)
		require.Equal(t, c.ID != "form", flat, c.ID)
		text := front.Message(&c.Question)
		if flat {
			text += displayed(t, form.Schema)
		} else {
			c.Exact, c.Prose = nil, []string{"prompt", "context"}
		}
		require.NoError(t, hostile.Check(text, c.Exact, c.Prose), c.ID)
	}
	plain := func(property string) (front.Form, bool) {
		return front.FormOf(&engine.Question{Kind: engine.FillFields,
			Schema: []byte(`{"type":"object","properties":{"a":` + property + `}}`)})
	}
	title := hostile.Text("title")
	for _, property := range []string{`{"type":"string","oneOf":[{"const":"x","title":"` + title + `"}]}`,
		`{"type":"array","items":{"anyOf":[{"const":"x","title":"` + title + `"}]}}`, `{"type":"string","title":"` + title + `"}`} {
		form, flat := plain(property)
		require.True(t, flat, property)
		require.NoError(t, hostile.Check(displayed(t, form.Schema), nil, []string{"title"}), property)
	}
	for _, property := range []string{`{"type":"string","enum":["` + title + `"]}`, `{"type":"string","default":"` + title + `"}`,
		`{"type":"string","default":"\u200b"}`, `{"type":"string","oneOf":[{"const":"` + title + `","title":"x"}]}`,
		`{"type":"array","items":{"type":"string","enum":["` + title + `"]}}`,
		`{"type":"array","items":{"anyOf":[{"const":"` + title + `","title":"x"}]}}`} {
		_, flat := plain(property)
		require.False(t, flat, property)
	}
	q := engine.Question{Kind: engine.Approval, Prompt: "Pay?", Subject: &engine.Subject{Tool: "pay"},
		Files: &interaction.Files{List: []interaction.File{{Name: "invoice.pdf", MediaType: "application/pdf",
			Size: 7}}}}
	require.Contains(t, front.Message(&q), "File: invoice.pdf (application/pdf, 7 bytes)")
}

// N6: a question's text has the changed lines of each change, with every character.
func TestN6AMessageHasTheChangedLines(t *testing.T) {
	text := front.Message(&lifecycle.Question{Prompt: "Write?", Subject: &engine.Subject{Tool: "write",
		Changes: []engine.Change{
			{Path: "a\u202e", Kind: engine.ChangeEdit, Before: "1\n2\n3\n", After: "1\n2\u200b\n3\n"},
			{Path: "b", Kind: engine.ChangeDelete, Before: "gone"},
		}}})
	require.Contains(t, text, `edit a\u{202E} (-1 +1 lines)`+"\n- 2\n"+`+ 2\u{200B}`+
		"\ndelete b (-1 +0 lines)\n- gone (no line break at the end)")
}

// P1, N8: a question's text includes everything that the decision is about, with the call's summary
// and the files.
func TestP1N8AMessageHidesNothing(t *testing.T) {
	text := front.Message(&lifecycle.Question{Prompt: "the prompt", Context: "the context",
		Subject: &engine.Subject{Tool: "a tool", Title: "the title", Summary: "the summary", Risk: "the risk",
			Arguments: []byte(`{"an":"argument"}`)},
		Files: &engine.Files{List: []engine.File{{Name: "a.txt", MediaType: "text/plain", Size: 3}}}})
	for _, part := range []string{"the prompt", "the context", "a tool", "the title", "the summary", "the risk",
		`"an": "argument"`, "a.txt (text/plain, 3 bytes)"} {
		require.Contains(t, text, part)
	}
}
