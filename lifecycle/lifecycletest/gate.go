package lifecycletest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/fcmp"
	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

var answerSchema = json.RawMessage(
	`{"type":"object","properties":{"answer":{"type":"integer"}},"required":["answer"],"additionalProperties":false}`)

func withSchema(s *lifecycle.Spec) { s.OutputSchema = answerSchema }

// withAny declares a schema that accepts everything.
func withAny(s *lifecycle.Spec) { s.OutputSchema = json.RawMessage(`{}`) }

func auto(s *lifecycle.Spec) { s.Mode = lifecycle.Auto }

func attempts(n int) func(*lifecycle.Spec) { return func(s *lifecycle.Spec) { s.MaxAttempts = n } }

// huge is an output of more bytes than are taken, and tooLarge its text.
var huge, tooLarge = func() (map[string]any, string) {
	text := strings.Repeat("x", interaction.MaxOutput)
	return map[string]any{"answer": text}, `{"answer":"` + text + `"}`
}()

// gateCase is one turn and what the gate makes of it.
type gateCase struct {
	name     string
	change   []func(*lifecycle.Spec)
	turn     Step
	state    fsm.State
	code     fsm.Code
	warnings []fsm.Warning
	output   string
}

var gateCases = []gateCase{
	{"B1 a failed process fails the run whatever it said", nil, Crashes("", "All is well.\n__SKILL_DONE__"),
		fsm.StateFailed, fsm.CodeEngineFailed, nil, ""},
	{"B1 the engine names the code", nil, Crashes(fsm.CodeEngineUnavailable, ""), fsm.StateFailed,
		fsm.CodeEngineUnavailable, nil, ""},
	{"B1 a code that the contract does not have stands in the message", nil, Crashes("OF_ITS_OWN", ""), fsm.StateFailed,
		fsm.CodeEngineFailed, nil, ""},
	{"B1 an engine that cannot work fails the run", nil, func(context.Context, engine.Turn,
		engine.Sink) (engine.Outcome, error) {
		return engine.Outcome{}, errors.New("no fuel")
	}, fsm.StateFailed, fsm.CodeEngineFailed, nil, ""},
	{"B1 an engine that panics fails its own turn only", nil, func(context.Context, engine.Turn,
		engine.Sink) (engine.Outcome, error) {
		panic("bug")
	}, fsm.StateFailed, fsm.CodeEngineFailed, nil, ""},
	{"B2 auto mode succeeds with valid output and no marker", []func(*lifecycle.Spec){auto, withSchema},
		Says(`{"answer":42}`), fsm.StateSucceeded, "", nil, `{"answer":42}`},
	{"B2 auto mode without a schema needs only the process", []func(*lifecycle.Spec){auto}, Says("Whatever."),
		fsm.StateSucceeded, "", nil, ""},
	{"B3 auto mode fails with output that fails the schema", []func(*lifecycle.Spec){auto, withSchema},
		Says(`{"answer":"x"}`), fsm.StateFailed, fsm.CodeOutputInvalid, nil, ""},
	{"B3 auto mode fails with output that does not parse", []func(*lifecycle.Spec){auto, withSchema},
		Says(`{"answer":`), fsm.StateFailed, fsm.CodeOutputInvalid, nil, ""},
	{"B4 marker and valid output succeed", []func(*lifecycle.Spec){withSchema}, Done(`{"answer":42}`),
		fsm.StateSucceeded, "", nil, `{"answer":42}`},
	{"B4 the marker as a field is removed before validation", []func(*lifecycle.Spec){withSchema},
		Says(`{"answer":42,"__SKILL_DONE__":true}`), fsm.StateSucceeded, "", nil, `{"answer":42}`},
	{"B5 marker and invalid output fail and never wait", []func(*lifecycle.Spec){withSchema}, Done(`{"answer":"x"}`),
		fsm.StateFailed, fsm.CodeOutputInvalid, nil, ""},
	{"B5 marker and no output fail and never wait", []func(*lifecycle.Spec){withSchema}, Done("I am done."),
		fsm.StateFailed, fsm.CodeOutputInvalid, nil, ""},
	{"B6 soft completion succeeds with a warning", []func(*lifecycle.Spec){withSchema},
		Returns(map[string]any{"answer": 42}), fsm.StateSucceeded, "",
		[]fsm.Warning{fsm.WarnInteractiveCompletedWithoutDoneMarker}, `{"answer":42}`},
	{"B6 a schema that accepts everything is warned of", []func(*lifecycle.Spec){func(s *lifecycle.Spec) {
		s.OutputSchema = json.RawMessage(`{"type":"object","properties":{}}`)
	}}, Says(`{"any":1}`), fsm.StateSucceeded, "", []fsm.Warning{fsm.WarnInteractiveCompletedWithoutDoneMarker,
		fsm.WarnInteractiveSoftCompletionSchemaTooPermissive}, `{"any":1}`},
	{"B6 JSON in prose completes nothing", []func(*lifecycle.Spec){withSchema},
		Says(`I think it is {"answer":42} or so.`), fsm.StateWaitingUser, "", nil, ""},
	{"B7 no completion in the last attempt fails", []func(*lifecycle.Spec){attempts(1)}, Says("What now?"),
		fsm.StateFailed, fsm.CodeInteractiveMaxAttemptExceeded, nil, ""},
	{"B7 B10 an explicit question in the last attempt fails too", []func(*lifecycle.Spec){attempts(1)},
		Wonders("What now?"), fsm.StateFailed, fsm.CodeInteractiveMaxAttemptExceeded, nil, ""},
	{"B8 no completion waits for the user", []func(*lifecycle.Spec){attempts(2)}, Says("What now?"),
		fsm.StateWaitingUser, "", nil, ""},
	{"B2 I11 auto mode without a schema succeeds without an output that is too large, and says so",
		[]func(*lifecycle.Spec){auto}, Returns(huge), fsm.StateSucceeded, "",
		[]fsm.Warning{fsm.WarnEngineOutputTruncated}, ""},
	{"B3 I11 an output that is too large fails a schema", []func(*lifecycle.Spec){auto, withAny}, Returns(huge),
		fsm.StateFailed, fsm.CodeOutputInvalid, []fsm.Warning{fsm.WarnEngineOutputTruncated}, ""},
	{"B4 I11 so does a marker without a schema", nil, Done(tooLarge), fsm.StateSucceeded, "",
		[]fsm.Warning{fsm.WarnEngineOutputTruncated}, ""},
	{"B8 I11 and whoever is asked about it learns that", []func(*lifecycle.Spec){withAny}, Returns(huge),
		fsm.StateWaitingUser, "", []fsm.Warning{fsm.WarnEngineOutputTruncated}, ""},
	{"B8 an output that says it is not done waits, though any object completes softly",
		[]func(*lifecycle.Spec){withAny}, Says(`{"__SKILL_DONE__":false,"message":"Which?"}`), fsm.StateWaitingUser, "",
		nil, ""},
	{"B8 and so does structured output", []func(*lifecycle.Spec){withAny},
		Returns(map[string]any{"__SKILL_DONE__": false, "message": "Which?"}), fsm.StateWaitingUser, "", nil, ""},
	{"B8 and one that passes a stricter schema", []func(*lifecycle.Spec){withSchema},
		Says(`{"__SKILL_DONE__":false,"answer":42}`), fsm.StateWaitingUser, "", nil, ""},
	{"B8 not done outweighs the marker beside it", []func(*lifecycle.Spec){withAny}, Done(`{"__SKILL_DONE__":false}`),
		fsm.StateWaitingUser, "", nil, ""},
	{"B2 auto mode has nobody to wait for: not done makes no difference", []func(*lifecycle.Spec){auto, withAny},
		Says(`{"__SKILL_DONE__":false,"a":1}`), fsm.StateSucceeded, "", nil, `{"a":1}`},
	{"B11 a resumable engine without a handle fails", nil, Forgets(Wonders("Which?")), fsm.StateFailed,
		fsm.CodeSessionResumeFailed, nil, ""},
	{"B10 an explicit question wins over soft completion", []func(*lifecycle.Spec){withSchema}, func(_ context.Context,
		t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
		return engine.Outcome{
			Process: engine.Process{Status: engine.OK}, Output: json.RawMessage(`{"answer":42}`), Session: handle(t),
			Questions: []interaction.Question{{Kind: interaction.Confirm, Prompt: "Is 42 right?"}},
		}, nil
	}, fsm.StateWaitingUser, "", nil, ""},
}

var gate = append(gateStories(), []story{
	{"B9/without max_attempt the rounds are unlimited", inWorld(func(w *world) {
		const rounds = 40
		for range rounds {
			w.agent.Plan("r", Says("And now?"))
		}
		w.agent.Plan("r", Done("Enough."))
		w.submit("r")
		for i := range rounds {
			w.is("r", fsm.StateWaitingUser)
			w.reply("r", i+1, "go on")
		}
		require.Equal(w, rounds+1, w.is("r", fsm.StateSucceeded).Attempt)
	})},
}...)

func gateStories() []story {
	all := make([]story, 0, len(gateCases))
	for _, c := range gateCases {
		all = append(all, story{c.name, inWorld(func(w *world) {
			w.agent.Plan("r", c.turn)
			w.submit("r", c.change...)
			run := w.is("r", c.state)
			if c.code != "" {
				require.Equal(w, c.code, run.Error.Code, run.Error.Message)
				require.NotEmpty(w, run.Error.Message)
				require.Equal(w, strings.Contains(c.name, "stands in the message"), strings.HasPrefix(run.Error.Message,
					"OF_ITS_OWN: exit status 3"), run.Error.Message)
			}
			require.Equal(w, c.warnings, run.Warnings)
			if slices.Contains(c.warnings, fsm.WarnEngineOutputTruncated) {
				const limits = "output has 1048589 bytes, at most 1048576 are taken"
				require.True(w, slices.ContainsFunc(w.log("r"), func(e fcmp.Event) bool {
					return e.Type == fcmp.TypeWarning && strings.Contains(string(e.Data), limits)
				}))
				require.True(w, run.Error == nil || strings.Contains(run.Error.Message, limits), run.Error)
				require.True(w, run.Pending == nil || strings.Contains(run.Pending.Prompt, limits), run.Pending)
			}
			if c.output != "" {
				require.JSONEq(w, c.output, string(run.Output))
			}
			require.Equal(w, c.state == fsm.StateWaitingUser, run.Pending != nil)
		})})
	}
	return all
}
