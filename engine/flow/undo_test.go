package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

// bounded is a desk with a store's limits, which can be lost at a write.
type bounded struct {
	desk

	size   *interaction.JournalSize
	lostAt int // the turn is lost after so many writes; 0: never
}

func (b *bounded) Append(ctx context.Context, entries ...engine.JournalEntry) error {
	if b.lostAt > 0 && len(b.writes) == b.lostAt {
		return engine.ErrStale
	}
	next, err := b.size.With(entries)
	if err != nil {
		return err
	}
	b.size = next
	return b.desk.Append(ctx, entries...)
}

// Spawn refuses each child, as for a run with the maximum of children.
func (*bounded) Spawn(context.Context, engine.Child) (string, error) {
	return "", engine.ErrTooManyChildren
}

func (*bounded) ChildEnd(context.Context, string) (*engine.ChildEnd, error) {
	return nil, errors.New("no such child")
}

func (*bounded) OpenChildren(context.Context) ([]string, error) { return nil, nil }

func stepOf(v any) func(c *flow.Ctx) error {
	return func(c *flow.Ctx) error {
		_, err := flow.Step(c, "s", func(context.Context) (any, error) { return v, nil })
		return err
	}
}

// finalFailures are calls that fail the run, by their error text.
func finalFailures() map[string]func(c *flow.Ctx) error {
	never := func(context.Context) (int, error) { panic("it is executed") }
	named := func(name string) func(c *flow.Ctx) error {
		return func(c *flow.Ctx) error { _, err := flow.Step(c, name, never); return err }
	}
	return map[string]func(c *flow.Ctx) error{
		"unsupported value: NaN": stepOf(math.NaN()),
		"range of a float64": func(c *flow.Ctx) error {
			return second(flow.Step(c, "s", func(context.Context) (json.RawMessage, error) {
				return json.RawMessage(`[1e400]`), nil
			}))
		},
		"it has 2097164 bytes": stepOf(strings.Repeat("x", 2<<20)),
		"for 1 compensations": func(c *flow.Ctx) error {
			for {
				if err := stepOf(1)(c); err != nil {
					return err
				}
			}
		},
		"too many runs in a tree": func(c *flow.Ctx) error {
			_, err := flow.Run[string](c, "kid", engine.Child{Prompt: "x"})
			if !errors.Is(err, engine.ErrTooManyChildren) {
				panic(err)
			}
			return err
		},
		"no such child": func(c *flow.Ctx) error {
			_, err := flow.Wait[string](c, flow.Child{Name: "k"})
			return err
		},
		"has no children":               func(c *flow.Ctx) error { _, err := flow.WaitAny(c); return err },
		"needs a name":                  named(""),
		`UTF-8 without NUL, not "a\x00`: named("a\x00"),
		`UTF-8 without NUL, not "\xff"`: named("\xff"),
		"0 questions at": func(c *flow.Ctx) error {
			_, err := flow.AskAll(c, "q", engine.Rule{})
			return err
		},
		"questions \"q\" at 2 have 331 KiB together, want at most 256": func(c *flow.Ctx) error {
			q := ask("?")
			q.Context = strings.Repeat("x", 32<<10)
			return second(flow.AskAll(c, "q", engine.Rule{}, slices.Repeat([]engine.Question{q}, 10)...))
		},
		"a undo needs a name": func(c *flow.Ctx) error {
			c.Defer("", func(context.Context) error { panic("it is executed") })
			return nil
		},
		"too deeply in branches": func(c *flow.Ctx) (err error) {
			var into func(c *flow.Ctx, left int) error
			into = func(c *flow.Ctx, left int) error {
				if left == 0 {
					return named("s")(c)
				}
				return flow.All(c, func(c *flow.Ctx) error { return into(c, left-1) })
			}
			return into(c, 150)
		},
	}
}

// M1: a call that fails the run is an error of the function: it is compensated, whatever the
// function does with the error. The run fails with the same reason in whichever turn it is
// compensated; nothing is executed or tried again.
func TestM1AFinalFailureIsCompensated(t *testing.T) {
	t.Parallel()
	for reason, use := range finalFailures() {
		for how, ignored := range map[string]bool{"": false, ", ignored": true} {
			t.Run(reason+how, func(t *testing.T) {
				t.Parallel()
				var charged, refunded, tries int
				f := func(c *flow.Ctx, _ string) (string, error) {
					_, err := flow.Step(c, "charge", func(context.Context) (int, error) { charged++; return 1, nil })
					if err != nil {
						return "", err
					}
					c.Defer("refund", func(context.Context) error { refunded++; return nil })
					if tries++; tries > 1 {
						_, err = flow.Step(c, "s", func(context.Context) (int, error) { panic("it is executed") })
					} else {
						err = use(c)
					}
					if err != nil && !ignored {
						require.ErrorIs(t, err, flow.ErrTurnOver)
						return "", err
					}
					return "done", nil
				}
				d := &bounded{}
				_, why := flow.New("f", f).RunTurn(t.Context(), engine.Turn{RunID: "r"}, d)
				require.ErrorContains(t, why, reason)
				require.Equal(t, 1, charged)
				require.Equal(t, 1, refunded)

				if strings.HasPrefix(reason, "for 1") || strings.Contains(reason, "deep") {
					return // the journal has more than the second turn reaches
				}
				writes := len(d.writes)
				for lost := 1; lost < writes; lost++ {
					charged, refunded, tries = 0, 0, 0
					d := &bounded{lostAt: lost}
					_, err := flow.New("f", f).RunTurn(t.Context(), engine.Turn{RunID: "r"}, d)
					require.Error(t, err)
					if d.lostAt = 0; len(d.entries) == 1 {
						continue // the failure is not known, so nothing is undone
					}
					for range 2 {
						_, err = flow.New("f", f).RunTurn(t.Context(), engine.Turn{RunID: "r"}, d)
						require.EqualError(t, err, why.Error())
						var failure *engine.Failure
						require.Equal(t, errors.As(why, &failure), errors.As(err, &failure))
						require.Equal(t, 1, charged)
						require.GreaterOrEqual(t, refunded, 1)
					}
				}
			})
		}
	}
}

// M1: a result that cannot be an output, or is refused by the run, is an error of the function.
func TestM1AResultThatIsNoOutputIsCompensated(t *testing.T) {
	for reason, turn := range map[string]engine.Turn{"encoded as JSON": {}, "cannot unmarshal": {Prompt: "list"},
		"invalid output again: it is too short": {Prompt: "valid", Repair: "it is too short"}} {
		refunded := 0
		agent := flow.New("f", func(c *flow.Ctx, in string) (any, error) {
			c.Defer("refund", func(context.Context) error { refunded++; return nil })
			switch in {
			case "list":
				return []int{1}, nil
			case "valid":
				return "x", nil
			}
			return func() {}, nil
		})
		_, err := agent.RunTurn(t.Context(), turn, &desk{})
		require.ErrorContains(t, err, reason)
		require.Equal(t, 1, refunded)
	}
}

// M1, B3: without compensations, the run checks the output, and may ask for a repair.
func TestM1TheRunChecksAnOutput(t *testing.T) {
	o, err := flow.New("f", func(*flow.Ctx, string) (out, error) { return out{"x"}, nil }).RunTurn(t.Context(),
		engine.Turn{RunID: "r", OutputSchema: []byte(`{"required":["id"]}`)}, &desk{})
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"x"}`, string(o.Output))
}

// M1, B3: an output that the run's schema refuses is compensated too, with and without repair; one
// that is too large fails the run instead of being dropped.
func TestM1AnOutputThatIsNotValidIsCompensated(t *testing.T) {
	large := map[string]string{"text": strings.Repeat("x", engine.MaxOutput)}
	for reason, test := range map[string]struct {
		out  any
		spec lifecycle.Spec
		code engine.Code
	}{
		"missing properties: 'id'": {out{"x"}, lifecycle.Spec{OutputSchema: []byte(`{"required":["id"]}`)},
			engine.CodeOutputInvalid},
		"missing properties: 'no'": {out{"x"}, lifecycle.Spec{OutputSchema: []byte(`{"required":["no"]}`), RepairRounds: 2},
			engine.CodeOutputInvalid},
		"returned a text":          {"x", lifecycle.Spec{OutputSchema: []byte(`{}`)}, engine.CodeOutputInvalid},
		"output has 1048587 bytes": {large, lifecycle.Spec{}, engine.CodeEngineFailed},
	} {
		for _, defers := range []int{1, 0} {
			t.Run(reason+strconv.Itoa(defers), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					undone := 0
					h := serve(t, memory.New(), flow.New("f", func(c *flow.Ctx, _ string) (any, error) {
						for range defers {
							c.Defer("undo", func(context.Context) error { undone++; return nil })
						}
						return test.out, nil
					}))
					h.submit(test.spec)
					r := h.run()
					require.Equal(t, lifecycle.StateFailed, r.State)
					require.Equal(t, test.code, r.Error.Code, r.Error.Message)
					if require.Equal(t, defers, undone); defers > 0 || test.code == engine.CodeEngineFailed {
						require.Contains(t, r.Error.Message, reason)
					}
				})
			})
		}
	}
}

// M1: a journal reserves room for all compensations, in entries and bytes, even if each fails with
// a long error; a function without any may use all of it.
func TestM1AFullJournalKeepsRoomForCompensations(t *testing.T) {
	for _, c := range []struct{ undos, size int }{{0, 1}, {40, 1}, {40, 1<<20 - 64}} {
		undos, size := c.undos, c.size
		t.Run(strconv.Itoa(undos)+" of "+strconv.Itoa(size), func(t *testing.T) {
			d := &bounded{}
			value, undone := strings.Repeat("x", size), 0
			_, err := flow.New("f", func(c *flow.Ctx, _ string) (string, error) {
				for range undos {
					c.Defer("refund", func(context.Context) error {
						undone++
						return errors.New(strings.Repeat("\x01", 1<<20))
					})
				}
				for {
					if err := stepOf(value)(c); err != nil {
						return "", err
					}
				}
			}).RunTurn(t.Context(), engine.Turn{RunID: "r"}, d)
			require.ErrorIs(t, err, engine.ErrJournalFull)
			require.Equal(t, undos, undone)
			stored := 0
			for _, e := range d.entries {
				if e.Type == "undo" {
					stored++
				}
			}
			require.Equal(t, undos, stored)
			if size == 1 {
				require.Len(t, d.entries, engine.MaxJournalEntries)
			}
		})
	}
}

// M1: after a branch fails the run, the others still read their journal; the run fails once they
// have returned or wait.
func TestM1ABranchThatFailsLeavesTheOthers(t *testing.T) {
	f := func(answered bool) func(c *flow.Ctx, _ string) (string, error) {
		return func(c *flow.Ctx, _ string) (string, error) {
			c.Defer("undo", func(context.Context) error { return nil })
			return "", flow.All(c, func(c *flow.Ctx) error {
				if answered {
					_, err := flow.Step(c, "s", func(context.Context) (float64, error) { return math.NaN(), nil })
					return err
				}
				return c.Sleep(1)
			}, func(c *flow.Ctx) error {
				for i := range 50 {
					if err := stepOf(i)(c); err != nil {
						return err
					}
				}
				_, err := flow.Ask[string](c, "q", ask("?"))
				return err
			})
		}
	}
	d := &desk{}
	o, err := d.turn(t, f(false))
	require.NoError(t, err)
	d.entries = slices.DeleteFunc(d.entries, func(e engine.JournalEntry) bool { return e.Type == "sleep" })
	_, err = d.turn(t, f(true), answersTo(o)...)
	require.ErrorContains(t, err, "NaN")
	require.Equal(t, "undo", d.entries[len(d.entries)-1].Type)
}

// M1, M2: once a run compensates a failure, changed code executes nothing but compensations.
func TestM1ARunThatCompensatesExecutesNothingElse(t *testing.T) {
	d := &bounded{lostAt: 1}
	failing := true
	f := func(c *flow.Ctx, _ string) (string, error) {
		c.Defer("undo", func(context.Context) error { return nil })
		if !failing {
			_, err := flow.Ask[string](c, "q", ask("?"))
			return "done", err
		}
		_, err := flow.Step(c, "s", func(context.Context) (float64, error) { return math.NaN(), nil })
		return "", err
	}
	_, err := flow.New("f", f).RunTurn(t.Context(), engine.Turn{RunID: "r"}, d)
	require.Error(t, err)
	require.Len(t, d.entries, 1)
	failing, d.lostAt = false, 0
	o, err := flow.New("f", f).RunTurn(t.Context(), engine.Turn{RunID: "r"}, d)
	require.ErrorContains(t, err, "NaN")
	require.Empty(t, o.Questions)

	d.entries[0].Body = []byte(`{"other":1}`)
	_, err = flow.New("f", f).RunTurn(t.Context(), engine.Turn{RunID: "r"}, d)
	require.ErrorContains(t, err, "which no function has there")
}

// M1: a compensation in a later turn uses the stored results; without compensations, the failure is
// not stored.
func TestM1WhatACompensationGets(t *testing.T) {
	d, refunded := &bounded{lostAt: 2}, 0
	f := func(c *flow.Ctx, _ string) (string, error) {
		amount, err := flow.Step(c, "charge", func(context.Context) (int, error) { return 5, nil })
		if err != nil {
			return "", err
		}
		c.Defer("refund", func(context.Context) error { refunded += amount; return nil })
		return "", stepOf(math.NaN())(c)
	}
	for range 2 { // the first turn is lost before the compensation is stored
		refunded = 0
		_, err := flow.New("f", f).RunTurn(t.Context(), engine.Turn{RunID: "r"}, d)
		require.Error(t, err)
		require.Equal(t, 5, refunded)
		d.lostAt = 0
	}
	require.Len(t, d.entries, 3, "result, failure and compensation")

	d = &bounded{}
	_, err := d.turn(t, func(c *flow.Ctx, _ string) (string, error) { return "", stepOf(math.NaN())(c) })
	require.ErrorContains(t, err, "NaN")
	require.Empty(t, d.entries)
}

// M1: on a host, the run fails with the same reason and code.
func TestM1AFinalFailureOnAHost(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var l ledger
		h := serve(t, memory.New(), flow.New("f", func(c *flow.Ctx, _ string) (string, error) {
			if _, err := flow.Step(c, "charge", l.do("charge")); err != nil {
				return "", err
			}
			c.Defer("refund", func(ctx context.Context) error { _, err := l.do("refund")(ctx); return err })
			if _, err := flow.Ask[string](c, "q", ask("?")); err != nil {
				return "", err
			}
			return flow.Run[string](c, "kid", engine.Child{Engine: "missing", Prompt: "x", OutputSchema: []byte("no")})
		}))
		h.submit(lifecycle.Spec{})
		h.reply(1, "yes")
		r := h.run()
		require.Equal(t, lifecycle.StateFailed, r.State)
		require.Equal(t, engine.CodeEngineFailed, r.Error.Code)
		require.Contains(t, r.Error.Message, `spawn "kid" at 3: `)
		require.Equal(t, "charge refund", l.String())
	})
}

// coded panics if Error is called on a nil pointer.
type coded struct{ code string }

func (e *coded) Error() string { return e.code }

// M1: panics and exits in easily overlooked host code lose no compensation: a nil pointer's error
// text, the encoding of the output and of the input.
func TestM1NilErrorsAndEncodingsThatPanicAreCompensated(t *testing.T) {
	var none *coded
	for name, f := range map[string]func() (any, error){
		"nil error":          func() (any, error) { return nil, none },
		"nil error, wrapped": func() (any, error) { return nil, errors.Join(errors.New("a"), none) },
		"panic":              func() (any, error) { return encoded{func() { panic("no JSON") }}, nil },
		"exit":               func() (any, error) { return encoded{runtime.Goexit}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l := &ledger{}
				h := serve(t, memory.New(), flow.New("f", func(c *flow.Ctx, _ string) (any, error) {
					c.Defer("refund", func(ctx context.Context) error { return second(l.do("refund")(ctx)) })
					c.Defer("notify", func(context.Context) error { return none })
					c.Defer("exit", func(context.Context) error { runtime.Goexit(); return nil })
					return f()
				}))
				h.submit(lifecycle.Spec{})
				require.Equal(t, lifecycle.StateFailed, h.run().State)
				require.Contains(t, h.run().Error.Message, "compensation: step notify: panic: ")
				require.Contains(t, h.run().Error.Message, "compensation: step exit: flow: ended by runtime.Goexit")
				require.Equal(t, "refund", l.String())
			})
		})
	}
}

// M1: more compensations than the journal has room for fail the run, and each is executed once.
func TestM1MoreCompensationsThanTheJournalHasRoomFor(t *testing.T) {
	b, executed := &desk{}, 0
	_, err := b.turn(t, func(c *flow.Ctx, _ string) (string, error) {
		for range 2 * engine.MaxJournalEntries {
			c.Defer("undo", func(context.Context) error { executed++; return nil })
		}
		return "done", nil
	})
	require.ErrorIs(t, err, engine.ErrJournalFull)
	undone := 0
	for _, e := range b.entries {
		if e.Type == "undo" {
			undone++
		}
	}
	require.Positive(t, executed)
	require.Equal(t, executed, undone)
	require.LessOrEqual(t, len(b.entries), engine.MaxJournalEntries)
}
