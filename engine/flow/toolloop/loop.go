package toolloop

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/flow"
)

// Model is a language model. Its messages have the form of the model's API, and are often types of
// its library. Runs call it concurrently.
type Model interface {
	// User returns the message for a user's text. It must be encodable as JSON.
	User(text string) any
	// Results returns the messages for the results of all calls of one answer, in order. They must be
	// encodable as JSON.
	Results(results []Result) []any
	// Next sends a conversation and returns the answer. A passing error (engine.PassingError) is
	// retried.
	Next(ctx context.Context, r Request) (Answer, error)
}

// Request is the input of Model.Next.
type Request struct {
	System   string
	Messages []json.RawMessage // from User, Results and Answer.Message
	Tools    []Tool
	// Text receives the pieces of a streamed answer, and stores them as Loop.Stream describes. Next
	// must return its error.
	Text func(piece string) error
}

// Answer is a model's answer. Without calls, its text is the loop's result.
type Answer struct {
	Message any // of the assistant, for the next request; encodable as JSON
	Text    string
	Calls   []Call
	Usage   engine.Usage
}

// Call is the model's request to call a tool.
type Call struct {
	ID        string // from the model's API
	Tool      string
	Arguments json.RawMessage // empty: {}
}

// Result is a call's result for the model.
type Result struct {
	Call   Call // as requested
	Text   string
	Failed bool // the call was refused, or its tool returned an error
}

// Tool is a tool that the model may call.
type Tool struct {
	Name, Description string          // the name has 1 to 128 bytes
	Schema            json.RawMessage // the JSON Schema of the arguments

	// Run executes a call. An error becomes the call's result, unless the flow retries the step
	// (flow.Step). Pass flow.Key(ctx) to the external service. A text over 256 KiB loses its middle.
	Run func(ctx context.Context, arguments json.RawMessage) (string, error)
	// Policy is the retry policy of a call.
	Policy flow.Policy

	// Approve decides whether people must approve a call; nil: Loop.Approve.
	Approve Approval
	// Ask is the question for the approval. The loop sets Kind, Ref, Schema, and its Subject; an
	// empty Prompt becomes "Allow this call?".
	Ask engine.Question
	// Title and Risk are shown with the question. The Approval Risky asks if Risk is set.
	Title, Risk string
	// Summary, if set, identifies the call in lists and notices: an amount, a path.
	Summary func(arguments json.RawMessage) string
	// Changes, if set, returns the effect of a call on files or other texts. The question shows it.
	// It is called once for each call, like Approve.
	Changes func(arguments json.RawMessage) []engine.Change
}

// Approval reports whether people must approve a call. It is called once for each call, after the
// model's answer, and its result is stored.
type Approval func(t Tool, arguments json.RawMessage) bool

// Always requires approval for each call.
func Always(Tool, json.RawMessage) bool { return true }

// Risky requires approval for calls of tools with a Risk.
func Risky(t Tool, _ json.RawMessage) bool { return t.Risk != "" }

// Never requires no approval.
func Never(Tool, json.RawMessage) bool { return false }

// Loop is a model with its tools. Do not change it while runs use it.
type Loop struct {
	Model  Model
	System string // instructions
	Tools  []Tool
	// Approve applies to tools whose Approve is nil; nil: Always.
	Approve Approval
	// Policy is the retry policy for one answer of the model; only passing errors are retried. The zero
	// Policy retries three times. If the last error is also passing, the turn ends with engine.Later,
	// and the run's retry policy applies.
	Policy flow.Policy
	// MaxAnswers limits the model's answers; 0: 100. The loop then fails.
	MaxAnswers int
	// Stream is the minimum interval between events with streamed text; each event is one commit.
	// 0: the text of an answer with calls is one event, and the last answer's text is only the result.
	Stream time.Duration
}

// Run executes the loop in a flow, or as the whole flow: flow.New("clerk", l.Run). It returns the text
// of the model's last answer. Errors: the errors of flow.Step and flow.AskAll, an error after
// MaxAnswers, and a *flow.StepError after a permanent failure of the model.
func (l Loop) Run(c *flow.Ctx, prompt string) (string, error) {
	if err := l.validate(); err != nil {
		return "", err
	}
	messages, err := encoded(nil, l.Model.User(prompt))
	if err != nil {
		return "", err
	}
	most := cmp.Or(l.MaxAnswers, 100)
	for range most {
		a, err := l.ask(c, messages)
		if err != nil {
			return "", err
		}
		if len(a.Calls) == 0 {
			return a.Text, nil
		}
		if l.Stream == 0 && a.Text != "" {
			if err := c.Say(a.Text); err != nil {
				return "", err
			}
		}
		results, err := l.execute(c, a.Calls)
		if err != nil {
			return "", err
		}
		if messages, err = encoded(append(messages, a.Message), l.Model.Results(results)...); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("toolloop: the model still calls tools after %d answers", most)
}

func (l Loop) validate() error {
	if l.Model == nil {
		return fmt.Errorf("toolloop: Loop.Model is nil")
	}
	for i, t := range l.Tools {
		switch {
		case t.Name == "" || len(t.Name) > 128:
			return fmt.Errorf("toolloop: tool %d has the name %.200q, want 1 to 128 bytes", i, t.Name)
		case t.Run == nil:
			return fmt.Errorf("toolloop: tool %s has no Run", t.Name)
		case l.tool(t.Name) != &l.Tools[i]:
			return fmt.Errorf("toolloop: two tools have the name %s", t.Name)
		}
	}
	return nil
}

// tool returns the tool with this name, or nil.
func (l Loop) tool(name string) *Tool {
	i := slices.IndexFunc(l.Tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &l.Tools[i]
}

func encoded(messages []json.RawMessage, more ...any) ([]json.RawMessage, error) {
	for _, m := range more {
		body, err := json.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("toolloop: a message cannot be encoded: %w", err)
		}
		messages = append(messages, body)
	}
	return messages, nil
}

// answer is an Answer in the journal.
type answer struct {
	Message json.RawMessage `json:"message"`
	Text    string          `json:"text,omitempty"`
	Calls   []call          `json:"calls,omitempty"`
}

// call is a Call in the journal. It includes the decisions about the call, so that a deploy of other
// tools or rules does not change them for later turns.
type call struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Arguments is a string, because encoding/json rewrites a json.RawMessage.
	Arguments string `json:"arguments"`
	// Invalid says why the call cannot be executed.
	Invalid string `json:"invalid,omitempty"`
	// Question asks for the approval. It omits the arguments. Nil: no approval is required.
	Question *engine.Question `json:"question,omitempty"`
}

// ask gets the model's answer in one step.
func (l Loop) ask(c *flow.Ctx, messages []json.RawMessage) (answer, error) {
	policy, passing := l.Policy, l.Policy.Retryable
	if passing == nil {
		passing = engine.PassingError
	}
	if policy.Retries == 0 {
		policy.Retries = 3
	}
	policy.Retryable = passing
	tries := 0
	return flow.Step(c, "model", func(ctx context.Context) (answer, error) {
		tries++
		a, err := l.next(ctx, messages)
		if err != nil && ctx.Err() == nil && passing(err) && tries > policy.Retries {
			return answer{}, engine.Later(0, "the model is unavailable: "+err.Error())
		}
		return a, err
	}, policy)
}

func (l Loop) next(ctx context.Context, messages []json.RawMessage) (answer, error) {
	r := Request{System: l.System, Messages: slices.Clone(messages), Tools: slices.Clone(l.Tools),
		Text: func(string) error { return nil }}
	flush := func() error { return nil }
	if l.Stream > 0 {
		stream, err := flow.NewStream(ctx, l.Stream)
		if err != nil {
			return answer{}, err
		}
		r.Text, flush = stream.Write, stream.Flush
	}
	given, err := l.Model.Next(ctx, r)
	if err != nil {
		return answer{}, err
	}
	if err := flow.AddUsage(ctx, given.Usage); err != nil {
		return answer{}, err
	}
	encodedMessage, err := encoded(nil, given.Message)
	if err != nil {
		return answer{}, err
	}
	a := answer{Message: encodedMessage[0], Text: given.Text}
	for _, asked := range given.Calls {
		a.Calls = append(a.Calls, l.prepare(asked))
	}
	return a, flush()
}
