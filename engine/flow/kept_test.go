package flow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

// call does not decode from its JSON, like types of some model libraries.
type call struct{ Name, Arguments string }

func (c call) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"type": "function", "function": map[string]string{"name": c.Name}})
}

func (c *call) UnmarshalJSON(body []byte) error {
	var flat struct{ Name, Arguments string }
	err := json.Unmarshal(body, &flat)
	*c = call(flat)
	return err
}

// color has no zero value in JSON.
type color string

func (c *color) UnmarshalJSON(body []byte) error {
	if string(body) != `"red"` {
		return fmt.Errorf("no color: %s", body)
	}
	*c = "red"
	return nil
}

// M1: a step's result is the same in the turn that executes it and in later ones, whatever its type
// loses as JSON.
func TestM1AResultIsTheSameInEachTurn(t *testing.T) {
	type hidden struct {
		Shown  int
		secret int
	}
	same(t, "lossy", call{"pay", "{}"})
	same(t, "unexported", hidden{1, 2})
	same[any](t, "an integer of no type", int64(9007199254740993))
	same[any](t, "a struct of no type", hidden{1, 2})
	same(t, "nil as raw JSON", json.RawMessage(nil))
	same(t, "raw JSON", json.RawMessage(`{"b" : "<", "a":1.0}`))
	same(t, "no UTF-8", "a\xffb")
	same(t, "an empty slice", []int(nil))
	same(t, "a map", map[string]any{"n": 1, "l": []string{"x"}})
	same(t, "a large number", uint64(1<<63+1))
}

func same[T any](t *testing.T, name string, v T) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		d := &desk{}
		var seen []T
		f := func(c *flow.Ctx, _ string) (string, error) {
			got, err := flow.Step(c, "s", func(context.Context) (T, error) { return v, nil })
			require.NoError(t, err)
			seen = append(seen, got)
			return flow.Ask[string](c, "q", ask("?"))
		}
		o, err := d.turn(t, f)
		require.NoError(t, err)
		_, err = d.turn(t, f, answersTo(o)...)
		require.NoError(t, err)
		require.Len(t, seen, 2)
		require.Equal(t, seen[1], seen[0])
	})
}

// M1: a result that later turns could not decode fails the run at once, with compensation and
// without a question. A step's error is stored even if its result type cannot be.
func TestM1AResultThatDoesNotDecodeIsRefused(t *testing.T) {
	for reason, step := range map[string]func(c *flow.Ctx) error{
		"cannot unmarshal object into Go struct field": func(c *flow.Ctx) error {
			_, err := flow.Step(c, "s", func(context.Context) (fmt.Stringer, error) { return &named{"x"}, nil })
			return err
		},
		"no color": func(c *flow.Ctx) error {
			_, err := flow.Step(c, "s", func(context.Context) (color, error) { return "blue", nil })
			return err
		},
	} {
		d, undone := &desk{}, 0
		o, err := d.turn(t, func(c *flow.Ctx, _ string) (string, error) {
			c.Defer("undo", func(context.Context) error { undone++; return nil })
			_ = step(c)
			return flow.Ask[string](c, "q", ask("?"))
		})
		require.ErrorContains(t, err, `step "s" at 1 cannot be decoded from its JSON`)
		require.ErrorContains(t, err, reason)
		require.Empty(t, o.Questions)
		require.Equal(t, 1, undone)
	}

	var texts []string
	f := func(c *flow.Ctx, _ string) (string, error) {
		_, one := flow.Step(c, "a", func(context.Context) (color, error) { return "", errors.New("no paint") })
		_, two := flow.Step(c, "b", func(context.Context) (func(), error) { return nil, errors.New("no call") })
		_, three := flow.Step(c, "c", func(context.Context) (color, error) { return "", errors.New("earlier") })
		texts = append(texts, fmt.Sprint(one, ", ", two, ", ", three))
		return flow.Ask[string](c, "q", ask("?"))
	}
	d := &desk{}
	o, err := d.turn(t, f)
	require.NoError(t, err)
	d.entries[2].Body = []byte(`{"value":"","error":"earlier"}`) // as written by earlier releases
	_, err = d.turn(t, f, answersTo(o)...)
	require.NoError(t, err)
	require.Equal(t, []string{"step a: no paint, step b: no call, step c: earlier", texts[0]}, texts)
}

type named struct{ Name string }

func (n *named) String() string { return n.Name }

// M3: a child's object is not decoded as an empty text.
func TestM3AnObjectIsNoText(t *testing.T) {
	bubble(t, func(t *testing.T) {
		agent := flow.New("f", func(c *flow.Ctx, in string) (any, error) {
			if in == "child" {
				return out{"an object"}, nil
			}
			return flow.Run[string](c, "kid", engine.Child{Prompt: "child"})
		})
		h := serve(t, memory.New(), agent)
		h.submit(lifecycle.Spec{})
		require.Contains(t, h.held(), "has an object as its output, and the code expects a text")
	})
}

// M1: a child's end is the same in each turn, too.
func TestM1TheEndOfAChildIsTheSameInEachTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []string
		agent := flow.New("f", func(c *flow.Ctx, in string) (any, error) {
			if in == "child" {
				return map[string]string{"b": "<", "a": "x"}, nil
			}
			raw, err := flow.Run[json.RawMessage](c, "kid", engine.Child{Prompt: "child"})
			if err != nil {
				return nil, err
			}
			seen = append(seen, string(raw))
			return flow.Ask[string](c, "q", ask("?"))
		})
		h := serve(t, memory.New(), agent)
		h.submit(lifecycle.Spec{})
		h.reply(1, "x")
		h.ended()
		require.Equal(t, []string{seen[0], seen[0]}, seen)
	})
}

// N2: a question that cannot return the requested type is refused at the call, with a reason and
// compensation, and not asked.
func TestN2AQuestionThatCannotGiveTheTypeIsRefused(t *testing.T) {
	confirm := engine.Question{Kind: engine.Confirm, Prompt: "Ship?"}
	form := func(schema string) engine.Question {
		return engine.Question{Kind: engine.FillFields, Prompt: "What?", Schema: []byte(schema)}
	}
	approval, err := engine.ApprovalOf("Pay?", "pay", map[string]int{"amount": 1})
	require.NoError(t, err)
	unnamed := approval
	unnamed.Subject = &engine.Subject{}
	anyApproval := engine.Question{Kind: engine.Approval, Prompt: "?"}
	for name, test := range map[string]struct {
		use    func(c *flow.Ctx) error
		reason string
	}{
		"a bool of a confirm":        {asking[bool](confirm), "a question without a Schema gives a text, not a bool"},
		"a struct of a text":         {asking[out](ask("?")), "without a Schema gives a text, not a flow_test.out"},
		"a struct of an approval":    {asking[out](approval), "an approval cannot give a flow_test.out; use Approve"},
		"a bool of any approval":     {asking[bool](anyApproval), "an approval cannot give a bool"},
		"a bool of an object":        {asking[bool](form(`{"type":"object"}`)), "gives a value of the type object"},
		"a struct of a boolean":      {asking[out](form(`{"type":"boolean"}`)), "gives a value of the type boolean"},
		"a struct of no JSON":        {asking[out](form(`{`)), "question \"q\" at 1 is not asked"},
		"an answer of no schema":     {asking[engine.Answer](form(`{"type":"nothing"}`)), "question \"q\" at 1 is not asked"},
		"a text of another document": {asking[string](form(`{"$ref":"https://example.org/x"}`)), "other documents are not followed"},
		"an approval of nothing":     {asking[engine.Answer](unnamed), "subject is left out"},
		"a bool of a boolean":        {asking[bool](form(`{"type":"boolean"}`)), ""},
		"a number of an integer":     {asking[float64](form(`{"type":"integer"}`)), ""},
		"a map of an object":         {asking[map[string]any](form(`{"type":"object"}`)), ""},
		"a bool of what is open":     {asking[bool](form(`{"enum":[true]}`)), ""},
		"a struct of everything":     {asking[out](form(`true`)), ""},
		"an answer to an approval":   {asking[engine.Answer](approval), ""},
		"a text of a confirm":        {asking[string](confirm), ""},
		"one of several has no schema": {func(c *flow.Ctx) error {
			_, err := flow.AskAll(c, "q", engine.Rule{}, confirm, form(`{`))
			return err
		}, "is not asked"},
	} {
		t.Run(name, func(t *testing.T) {
			undone := 0
			o, err := new(desk).turn(t, func(c *flow.Ctx, _ string) (string, error) {
				c.Defer("undo", func(context.Context) error { undone++; return nil })
				return "", test.use(c)
			})
			if test.reason == "" {
				require.NoError(t, err)
				require.Len(t, o.Questions, 1)
				return
			}
			require.ErrorContains(t, err, test.reason)
			require.Empty(t, o.Questions)
			require.Equal(t, 1, undone)
		})
	}
}

func asking[T any](q engine.Question) func(c *flow.Ctx) error {
	return func(c *flow.Ctx) error { _, err := flow.Ask[T](c, "q", q); return err }
}
