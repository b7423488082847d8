package flow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/memory"
)

type environment string

// N1: typed answers return the decision; a function that ships on yes does not ship on no. A reply
// that selects nothing is refused before it is stored; the question stays open.
func TestN1ConfirmAndChooseReturnWhatWasDecided(t *testing.T) {
	deploy := func(c *flow.Ctx, _ string) (string, error) {
		ship, err := flow.Confirm(c, "ship", engine.Question{Prompt: "Ship it?"})
		if err != nil || !ship {
			return "not shipped", err
		}
		to, err := flow.Choose[environment](c, "to", engine.Question{Prompt: "Where?", Options: []engine.Option{
			{Label: "Staging", Value: "stage"}, {Label: "Production", Value: "prod"}}})
		return fmt.Sprintf("shipped to %s", to), err
	}
	for _, c := range []struct {
		replies []string
		want    string
	}{
		{[]string{"No "}, "not shipped"},
		{[]string{"yes", "production"}, "shipped to prod"},
		{[]string{"1", "1"}, "shipped to stage"},
	} {
		bubble(t, func(t *testing.T) {
			h := serve(t, memory.New(), flow.New("deploy", deploy))
			h.submit(lifecycle.Spec{})
			for i, text := range c.replies {
				_, err := h.Reply(t.Context(), "r", lifecycle.Reply{ID: i + 1, Text: "whatever you think", Key: "k"})
				require.ErrorIs(t, err, lifecycle.ErrInvalidReply)
				require.Equal(t, lifecycle.StateWaitingUser, h.run().State)
				h.reply(i+1, text)
			}
			require.Equal(t, c.want, h.ended())
		})
	}
}

// N1: without a decision by a person or a default answer there is no value, and the error carries
// the answer.
func TestN1ADeadlineIsUndecided(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`)
	for name, ask := range map[string]func(c *flow.Ctx) error{
		"confirm": func(c *flow.Ctx) error {
			yes, err := flow.Confirm(c, "q", engine.Question{Kind: engine.RiskAck, Prompt: "?"})
			require.False(t, yes)
			return err
		},
		"choose": func(c *flow.Ctx) error {
			_, err := flow.Choose[string](c, "q", engine.Question{Prompt: "?", Options: []engine.Option{{Value: "a"}}})
			return err
		},
		"form": func(c *flow.Ctx) error {
			_, err := flow.Form[map[string]int](c, "q", engine.Question{Prompt: "?", Schema: schema, AlsoText: true})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				h := serve(t, memory.New(), flow.New("f", func(c *flow.Ctx, _ string) (string, error) {
					err := ask(c)
					var undecided *flow.UndecidedError
					if !errors.As(err, &undecided) {
						return "", err
					}
					require.ErrorIs(t, err, flow.ErrUndecided)
					return string(undecided.Answer.Resolution), nil
				}))
				h.submit(lifecycle.Spec{AutoDecide: true, SessionTimeout: time.Hour})
				time.Sleep(2 * time.Hour)
				require.Equal(t, string(interaction.AutoDecideTimeout), h.ended())
			})
		})
	}
}

// N1: a default answer set by the host decides like a person.
func TestN1ADefaultAnswerDecides(t *testing.T) {
	bubble(t, func(t *testing.T) {
		h := serve(t, memory.New(), flow.New("f", func(c *flow.Ctx, _ string) (string, error) {
			yes, err := flow.Confirm(c, "q", engine.Question{Prompt: "?", Wait: &engine.Wait{End: time.Hour,
				Then: engine.ThenDefault, Default: &engine.DefaultReply{Text: "no"}}})
			return fmt.Sprint(yes), err
		}))
		h.submit(lifecycle.Spec{})
		time.Sleep(2 * time.Hour)
		require.Equal(t, "false", h.ended())
	})
}

// N2: a question that cannot return the requested value is refused before it is asked.
func TestN2AQuestionThatCannotDecideIsNotAsked(t *testing.T) {
	for name, ask := range map[string]func(c *flow.Ctx) error{
		"no yes": func(c *flow.Ctx) error {
			options := []engine.Option{{Value: "a"}, {Value: "b"}}
			_, err := flow.Confirm(c, "q", engine.Question{Prompt: "?", Options: options})
			return err
		},
		"no options": func(c *flow.Ctx) error {
			_, err := flow.Choose[string](c, "q", engine.Question{Prompt: "?"})
			return err
		},
		"another kind": func(c *flow.Ctx) error {
			_, err := flow.Confirm(c, "q", engine.Question{Kind: engine.OpenText, Prompt: "?"})
			return err
		},
		"no schema": func(c *flow.Ctx) error {
			_, err := flow.Form[map[string]int](c, "q", engine.Question{Prompt: "?"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := new(desk).turn(t, func(c *flow.Ctx, _ string) (string, error) { return "", ask(c) })
				var failure *engine.Failure
				require.ErrorAs(t, err, &failure)
				require.Equal(t, engine.CodeEngineFailed, failure.Code)
			})
		})
	}
}
