package flow_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
)

// desk is a sink without a lifecycle: it keeps the journal between turns and records when entries
// were written.
type desk struct {
	entries []engine.JournalEntry
	writes  []int // entries of each call of Append
	said    []string
	err     error // of each call

	released int // how often the turn released the journal's memory
}

func (d *desk) Release() { d.released++ }

func (d *desk) Message(_ context.Context, m engine.Message) error {
	d.said = append(d.said, m.Text)
	return d.err
}

func (*desk) Session(context.Context, engine.SessionHandle) error { return nil }

func (*desk) Warn(context.Context, engine.Diagnostic) error { return nil }

func (d *desk) Entries(context.Context) ([]engine.JournalEntry, error) { return d.entries, d.err }

func (d *desk) Append(_ context.Context, entries ...engine.JournalEntry) error {
	if d.err == nil {
		d.entries = append(d.entries, entries...)
		d.writes = append(d.writes, len(entries))
	}
	return d.err
}

// turn executes a turn and keeps the entries that its end adds to the journal.
func (d *desk) turn(t *testing.T, f func(c *flow.Ctx, in string) (string, error), answers ...engine.Answer) (
	engine.Outcome, error) {
	t.Helper()
	o, err := flow.New("f", f).RunTurn(t.Context(), engine.Turn{RunID: "r", Answers: answers}, d)
	d.entries = append(d.entries, o.Journal...)
	return o, err
}

// answersTo answers all questions of an outcome with their prompts.
func answersTo(o engine.Outcome) (answers []engine.Answer) {
	for i, q := range o.Questions {
		answers = append(answers, engine.Answer{ID: i + 1, Text: q.Prompt, Ref: q.Ref})
	}
	return answers
}

// M1: names are bounded; a type that cannot be an output is refused when the host starts.
func TestM1NamesAndResultsHaveTheirBounds(t *testing.T) {
	long := strings.Repeat("n", 128)
	text := func(*flow.Ctx, string) (string, error) { return "", nil }
	require.NotPanics(t, func() { flow.New(long, text) })
	for _, name := range []string{"", long + "n"} {
		require.Panics(t, func() { flow.New(name, text) })
	}
	require.Panics(t, func() { flow.New[string, string]("f", nil) })
	require.Panics(t, func() { flow.New("f", func(*flow.Ctx, string) (int, error) { return 0, nil }) })
	require.Panics(t, func() { flow.New("f", func(*flow.Ctx, string) (func(), error) { return func() {}, nil }) })

	for name, ok := range map[string]bool{long: true, "s": true, "": false, long + "n": false} {
		_, err := new(desk).turn(t, func(c *flow.Ctx, _ string) (string, error) {
			_, err := flow.Step(c, name, func(context.Context) (int, error) { return 1, nil })
			return "", err
		})
		if ok {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "a step needs a name of 1 to 128 bytes")
		for _, use := range []func(c *flow.Ctx) error{
			func(c *flow.Ctx) error { _, err := flow.Ask[string](c, name, ask("?")); return err },
			func(c *flow.Ctx) error { _ = flow.Version(c, name, 1); return c.Sleep(0) },
			func(c *flow.Ctx) error {
				c.Defer(name, func(context.Context) error { return nil })
				return errors.New("it fails")
			},
		} {
			_, err := new(desk).turn(t, func(c *flow.Ctx, _ string) (string, error) { return "", use(c) })
			require.ErrorContains(t, err, "needs a name of 1 to 128 bytes")
		}
	}
}

// M1: a journal's memory is released once, when the function has read the last entry and before any
// new call.
func TestM1AJournalIsReleasedWhenItIsRead(t *testing.T) {
	d := new(desk)
	ask := func(c *flow.Ctx) error {
		_, err := flow.Ask[string](c, "q", engine.Question{Kind: engine.OpenText, Prompt: "?"})
		return err
	}
	f := func(c *flow.Ctx, _ string) (string, error) {
		flow.Version(c, "v", 2)
		before := d.released
		for range 3 {
			if _, err := flow.Step(c, "s", func(context.Context) (int, error) { return 1, nil }); err != nil {
				return "", err
			}
		}
		require.Equal(t, before, d.released, "released while an entry is unread")
		flow.Version(c, "v", 2)
		if err := flow.All(c, func(b *flow.Ctx) error { return b.Say("a") }, ask); err != nil {
			return "", err
		}
		_, err := flow.Step(c, "last", func(context.Context) (int, error) { return d.released, nil })
		flow.Version(c, "v", 2)
		return "", err
	}
	o, err := d.turn(t, f)
	require.NoError(t, err)
	require.Zero(t, d.released, "an empty journal occupies nothing")
	q := o.Questions[0]
	_, err = d.turn(t, f, engine.Answer{ID: 1, Ref: q.Ref, Text: "yes"})
	require.NoError(t, err)
	require.Equal(t, 1, d.released)
	last := d.entries[len(d.entries)-1]
	require.Equal(t, "last", last.Name)
	require.JSONEq(t, `{"value":1}`, string(last.Body), "released before the next effect")
}

// M1: a function's argument is the input; the prompt if it takes a text and there is no input;
// nothing if it takes nothing. A run without a required input is held.
func TestM1WhatAFunctionIsGiven(t *testing.T) {
	text := flow.New("f", func(_ *flow.Ctx, in string) (string, error) { return in, nil })
	for _, turn := range []engine.Turn{{Prompt: "a"}, {Prompt: "b", InputJSON: []byte(`"a"`)}} {
		o, err := text.RunTurn(t.Context(), turn, &desk{})
		require.NoError(t, err)
		require.Equal(t, "a", o.FinalText)
		require.Equal(t, &engine.SessionHandle{Engine: "flow", Data: []byte("f")}, o.Session)
	}
	o, err := text.RunTurn(t.Context(), engine.Turn{Prompt: "a",
		Session: &engine.SessionHandle{Engine: "flow", Data: []byte("f")}}, &desk{})
	require.NoError(t, err)
	require.Nil(t, o.Session)
	_, err = flow.New("f", func(*flow.Ctx, struct{}) (out, error) { return out{}, nil }).
		RunTurn(t.Context(), engine.Turn{Prompt: "a"}, &desk{})
	require.NoError(t, err)
	_, err = flow.New("f", func(*flow.Ctx, in) (out, error) { return out{}, nil }).
		RunTurn(t.Context(), engine.Turn{Prompt: "a"}, &desk{})
	require.ErrorContains(t, err, "the run's input does not fit function f: the run has no input")

	for _, session := range []engine.SessionHandle{{Engine: "flow", Data: []byte("g")},
		{Engine: "process", Data: []byte("f")}} {
		_, err = text.RunTurn(t.Context(), engine.Turn{Prompt: "a", Session: &session}, &desk{})
		require.ErrorContains(t, err, `the run belongs to `+session.Engine)
	}
	_, err = text.RunTurn(t.Context(), engine.Turn{Prompt: "a", Repair: "it is too short"}, &desk{})
	require.ErrorContains(t, err, "the same invalid output again: it is too short")
	null, err := flow.New("f", func(*flow.Ctx, string) (none *out, _ error) { return none, nil }).
		RunTurn(t.Context(), engine.Turn{Prompt: "a"}, &desk{})
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(null.Output))
	require.Empty(t, null.FinalText)
}

// brittle cannot be decoded.
type brittle struct{}

func (brittle) UnmarshalJSON(body []byte) error {
	if string(body) == `"exit"` {
		runtime.Goexit()
	}
	panic("no input")
}

// M2: an input whose decoding panics or exits holds the run, like one of the wrong type: an earlier
// turn may have registered compensations.
func TestM2AnInputThatCannotBeDecodedHoldsTheRun(t *testing.T) {
	agent := flow.New("f", func(*flow.Ctx, brittle) (string, error) { panic("it is executed") })
	for _, input := range []string{`"panic"`, `"exit"`} {
		_, err := agent.RunTurn(t.Context(), engine.Turn{InputJSON: []byte(input)}, &desk{})
		var f *engine.Failure
		require.ErrorAs(t, err, &f)
		require.True(t, f.Held)
		require.ErrorContains(t, err, "the run's input does not fit function f: ")
	}
}

type noJournal struct{ engine.Sink }

// M1: without a journal no function is executed, and the host's error ends the turn.
func TestM1WithoutAJournalNothingIsExecuted(t *testing.T) {
	agent := flow.New("f", func(*flow.Ctx, string) (string, error) { panic("it is executed") })
	for _, sink := range []engine.Sink{noJournal{}, &desk{err: engine.ErrNoJournal}} {
		_, err := agent.RunTurn(t.Context(), engine.Turn{}, sink)
		var f *engine.Failure
		require.ErrorAs(t, err, &f)
		require.Equal(t, engine.CodeEngineUnavailable, f.Code)
		require.ErrorIs(t, err, engine.ErrNoJournal)
	}
	gone := errors.New("gone")
	_, err := agent.RunTurn(t.Context(), engine.Turn{}, &desk{err: gone})
	require.Equal(t, gone, err)
}

// M1: pauses between tries double from the first to the longest; a longer first pause stays.
// Defaults: one second, one minute, no limit of a try.
func TestM1PausesOfAStep(t *testing.T) {
	for name, test := range map[string]struct {
		policy flow.Policy
		pauses []time.Duration
	}{
		"once":   {flow.Policy{}, seconds()},
		"unset":  {flow.Policy{Retries: 7}, seconds(1, 2, 4, 8, 16, 32, 60)},
		"set":    {flow.Policy{Retries: 3, Backoff: 2 * time.Second, MaxBackoff: 7 * time.Second}, seconds(2, 4, 7)},
		"longer": {flow.Policy{Retries: 2, Backoff: 3 * time.Second, MaxBackoff: time.Second}, seconds(3, 3)},
		"many":   {flow.Policy{Retries: 2, Timeout: -1}, seconds(1, 2)},
		"odd":    {flow.Policy{Retries: 2, Backoff: 1, MaxBackoff: 3}, []time.Duration{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				last, pauses := time.Now(), []time.Duration(nil)
				_, err := new(desk).turn(t, func(c *flow.Ctx, _ string) (string, error) {
					return flow.Step(c, "s", func(ctx context.Context) (string, error) {
						pauses = append(pauses, time.Since(last))
						last = time.Now()
						require.NoError(t, ctx.Err())
						_, limited := ctx.Deadline()
						require.False(t, limited)
						return "", errors.New("")
					}, test.policy)
				})
				require.EqualError(t, err, "step s: failed", "an error without a text is one")
				require.Equal(t, test.pauses, append(seconds(), pauses[1:]...))
			})
		})
	}
}

func seconds(all ...int) []time.Duration {
	times := make([]time.Duration, len(all))
	for i, n := range all {
		times[i] = time.Duration(n) * time.Second
	}
	return times
}

// M1: the text of an error is cut to its bound between characters, the same in all turns.
func TestM1TheTextOfAnErrorIsBounded(t *testing.T) {
	const most = 16 << 10
	for name, test := range map[string]struct{ text, kept string }{
		"just fits":   {strings.Repeat("x", most), strings.Repeat("x", most)},
		"is cut":      {strings.Repeat("x", most) + "y", strings.Repeat("x", most)},
		"half a rune": {strings.Repeat("x", most-1) + "\u00e9", strings.Repeat("x", most-1)},
		"is not cut":  {strings.Repeat("x", most-1) + "\xff", strings.Repeat("x", most-1) + "\ufffd"},
		"no text":     {"a\xffb", "a\ufffdb"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &desk{}
			var texts []string
			f := func(c *flow.Ctx, _ string) (string, error) {
				_, err := flow.Step(c, "s", func(context.Context) (int, error) { return 0, errors.New(test.text) })
				var failed *flow.StepError
				require.ErrorAs(t, err, &failed)
				texts = append(texts, failed.Text)
				return flow.Ask[string](c, "q", ask("?"))
			}
			o, err := d.turn(t, f)
			require.NoError(t, err)
			_, err = d.turn(t, f, answersTo(o)...)
			require.NoError(t, err)
			require.Equal(t, []string{test.kept, test.kept}, texts)
		})
	}
}

// M1: a sleep ends at the first microsecond that is not too early; a run with sleeping branches
// continues with the first of them; a zero sleep continues at once.
func TestM1WhenASleepEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now().UTC() // a whole number of microseconds
		for d, want := range map[time.Duration]time.Duration{1: time.Microsecond, time.Microsecond: time.Microsecond,
			time.Microsecond + 1: 2 * time.Microsecond} {
			o, err := new(desk).turn(t, func(c *flow.Ctx, _ string) (string, error) { return "", c.Sleep(d) })
			require.NoError(t, err)
			require.Equal(t, now.Add(want), o.Sleep)
			require.Len(t, o.Journal, 1)
		}
		for _, d := range []time.Duration{0, -time.Hour} {
			o, err := new(desk).turn(t, func(c *flow.Ctx, _ string) (string, error) { return "done", c.Sleep(d) })
			require.NoError(t, err)
			require.Equal(t, "done", o.FinalText)
		}
		for _, all := range [][]time.Duration{seconds(1, 3, 2), seconds(3, 1, 2), seconds(2, 3, 1)} {
			o, err := new(desk).turn(t, func(c *flow.Ctx, _ string) (string, error) {
				var branches []func(c *flow.Ctx) error
				for _, d := range all {
					branches = append(branches, func(c *flow.Ctx) error { return c.Sleep(d) })
				}
				return "", flow.All(c, branches...)
			})
			require.NoError(t, err)
			require.Equal(t, now.Add(time.Second), o.Sleep)
			require.Len(t, o.Journal, 3)
		}
	})
}

// M1: only steps have keys and progress; each step and each compensation has its own key.
func TestM1KeysAndProgressAreForSteps(t *testing.T) {
	require.Empty(t, flow.Key(t.Context()))
	require.ErrorContains(t, flow.Progress(t.Context(), "x"), "Progress needs the context of a step")
	var keys []string
	key := func(ctx context.Context) error {
		keys = append(keys, flow.Key(ctx))
		return flow.Progress(ctx, flow.Key(ctx))
	}
	d := &desk{}
	_, err := d.turn(t, func(c *flow.Ctx, _ string) (string, error) {
		c.Defer("a", key)
		c.Defer("b", key)
		err := flow.All(c, func(*flow.Ctx) error { return nil }, func(c *flow.Ctx) error {
			c.Defer("c", key)
			_, err := flow.Step(c, "s", func(ctx context.Context) (int, error) { return 0, key(ctx) })
			return err
		})
		require.NoError(t, err)
		return "", errors.New("no")
	})
	require.EqualError(t, err, "no")
	require.Equal(t, []string{"r/1.b2.1/s", "r/1.b2.u1/c", "r/u2/b", "r/u1/a"}, keys)
	require.Equal(t, keys, d.said)
	var paths []string
	for _, e := range d.entries {
		paths = append(paths, e.Path)
	}
	require.Equal(t, []string{"1.b2.1", "1.b2.u1", "u2", "u1"}, paths)
}

// M1: values that a step may depend on are written before it, all others with the next entry or the
// turn's end.
func TestM1WhatIsWrittenWhen(t *testing.T) {
	d := &desk{}
	step := func(c *flow.Ctx, name string) {
		_, err := flow.Step(c, name, func(context.Context) (int, error) { return len(d.writes), nil })
		require.NoError(t, err)
	}
	f := func(c *flow.Ctx, _ string) (string, error) {
		c.Defer("undo", func(context.Context) error { panic("a function that succeeds is not undone") })
		require.NoError(t, c.Say("a"))
		step(c, "with the message")
		_ = c.ID()
		_ = c.Now()
		step(c, "after the values")
		step(c, "alone")
		require.NoError(t, c.Say("b"))
		return flow.Ask[string](c, "q", ask("?"))
	}
	o, err := d.turn(t, f)
	require.NoError(t, err)
	require.Equal(t, []int{2, 2, 1, 1}, d.writes)
	require.Len(t, o.Journal, 1)
	o, err = d.turn(t, f, answersTo(o)...)
	require.NoError(t, err)
	require.Equal(t, "?", o.FinalText)
	require.Equal(t, []int{2, 2, 1, 1}, d.writes)
	require.Equal(t, []string{"a", "b"}, d.said, "each once")
}

// M1: after the turn is over, each call says why.
func TestM1WhyATurnIsOver(t *testing.T) {
	for _, cause := range []error{engine.ErrCanceled, engine.ErrStale} {
		ctx, cancel := context.WithCancelCause(t.Context())
		_, err := flow.New("f", func(c *flow.Ctx, _ string) (string, error) {
			cancel(cause)
			_, err := flow.Step(c, "s", func(context.Context) (int, error) { return 1, nil })
			require.ErrorIs(t, err, flow.ErrTurnOver)
			require.ErrorIs(t, err, cause)
			return "", nil
		}).RunTurn(ctx, engine.Turn{}, &desk{})
		require.Equal(t, cause, err)
	}
	_, err := new(desk).turn(t, func(c *flow.Ctx, _ string) (string, error) {
		_, err := flow.Step(c, "", func(context.Context) (int, error) { return 1, nil })
		require.ErrorIs(t, err, flow.ErrTurnOver)
		require.ErrorContains(t, err, "a step needs a name")
		require.Equal(t, err, c.Sleep(time.Hour), "and goes on saying so")
		return "", nil
	})
	require.ErrorContains(t, err, "a step needs a name")
}
