package adk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genai"

	"google.golang.org/adk/v2/agent"
	"google.golang.org/adk/v2/agent/llmagent"
	"google.golang.org/adk/v2/plugin"
	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool"
	"google.golang.org/adk/v2/tool/toolconfirmation"

	"github.com/interlude-go/interlude/interaction"
)

// A confirmation is asked as an approval. Its decision is stored with the pending call until all
// pending calls have responses. Then the approved or edited arguments replace the session's, and a
// plugin checks each call just before its tool: only these arguments are executed.

// decision is a person's decision about a tool call.
type decision struct {
	Decision interaction.Decision `json:"decision"`
	// Arguments may be executed; nil for nothing.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Text is the reason of a rejection, or the response.
	Text string `json:"text,omitempty"`
}

// subjectOf is the subject of the approval; nil if it cannot be shown exactly.
func subjectOf(i Interrupt) *interaction.Subject {
	arguments, err := encodeExactly(i.Args)
	s := &interaction.Subject{Tool: i.Tool, Arguments: arguments}
	if err != nil || s.Validate() != nil || interaction.Visible(i.Tool) != i.Tool {
		return nil
	}
	return s
}

// encodeExactly is the JSON of arguments, an object.
func encodeExactly(args map[string]any) (json.RawMessage, error) {
	if args == nil {
		return json.RawMessage("{}"), nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(args)
	return bytes.TrimSpace(b.Bytes()), err
}

// decide stores the answer's decision about the call. It returns an error if another call was
// approved.
func (o *pendingCall) decide(a interaction.Answer) error {
	if a.Decision == "" || o.Kind != Confirmation {
		return nil
	}
	if a.Decision == interaction.Approve {
		arguments, err := encodeExactly(o.Args)
		if err != nil || !bytes.Equal(arguments, a.Arguments) {
			return o.anotherCall()
		}
	}
	o.Decided = &decision{Decision: a.Decision, Arguments: a.Arguments, Text: a.Text}
	return nil
}

type decisions map[string]*decision

// apply finds the decided calls, and returns copies of the events with the edited arguments.
func (k *savedSession) apply(events []*session.Event) ([]*session.Event, decisions, error) {
	found := make(decisions)
	edited := make(map[string]map[string]any)
	for _, o := range k.Open {
		if o.Decided == nil {
			continue
		}
		original, err := toolconfirmation.OriginalCallFrom(callIn(events, o.ID))
		if err != nil || found[original.ID] != nil {
			return nil, nil, resumeFailed(fmt.Errorf("adk: the call that %s confirms is not in the session", o.ID))
		}
		found[original.ID] = o.Decided
		if o.Decided.Decision != interaction.Edit {
			continue
		}
		var args map[string]any
		if err := decode(o.Decided.Arguments, &args); err != nil {
			return nil, nil, resumeFailed(fmt.Errorf("adk: the edited arguments of %s: %w", o.Tool, err))
		}
		edited[original.ID] = exactMap(args)
	}
	if len(edited) > 0 {
		events = slices.Clone(events)
		for i, ev := range events {
			events[i] = withArguments(ev, edited)
		}
	}
	return events, found, nil
}

func callIn(events []*session.Event, id string) *genai.FunctionCall {
	for _, ev := range events {
		for _, part := range parts(ev) {
			if part.FunctionCall != nil && part.FunctionCall.ID == id {
				return part.FunctionCall
			}
		}
	}
	return nil
}

// withArguments returns an event whose calls have their edited arguments: the model's calls, so
// that it sees the executed arguments, and the calls of confirmations, which ADK executes.
func withArguments(ev *session.Event, edited map[string]map[string]any) *session.Event {
	changed := false
	all := slices.Clone(parts(ev))
	for i, part := range all {
		if part == nil || part.FunctionCall == nil {
			continue
		}
		call := *part.FunctionCall
		if original, err := toolconfirmation.OriginalCallFrom(&call); err == nil &&
			call.Name == toolconfirmation.FunctionCallName {
			args, ok := edited[original.ID]
			if !ok {
				continue
			}
			executed := *original
			executed.Args = args
			call.Args = maps.Clone(call.Args)
			call.Args["originalFunctionCall"] = &executed
		} else if args, ok := edited[call.ID]; ok {
			call.Args = args
		} else {
			continue
		}
		of := *part
		of.FunctionCall = &call
		all[i], changed = &of, true
	}
	if !changed {
		return ev
	}
	copied, content := *ev, *ev.Content
	content.Parts = all
	copied.Content = &content
	return &copied
}

// plugin checks each call before its tool: an approved call gets exactly the approved arguments,
// and a refused one returns the reason to the agent.
func (d decisions) plugin() (*plugin.Plugin, error) {
	p, err := plugin.New(plugin.Config{Name: "interlude_approvals", BeforeToolCallback: d.beforeTool})
	if err != nil {
		return nil, fmt.Errorf("adk: %w", err)
	}
	return p, nil
}

var _ llmagent.BeforeToolCallback = decisions{}.beforeTool

func (d decisions) beforeTool(ctx agent.Context, _ tool.Tool, args map[string]any) (map[string]any, error) {
	decided := d[ctx.FunctionCallID()]
	if decided == nil {
		return nil, nil //nolint:nilnil // the call is unchanged
	}
	if decided.Arguments == nil {
		refused := map[string]any{"error": tool.ErrConfirmationRejected.Error()}
		if strings.TrimSpace(decided.Text) != "" {
			refused["reason"] = decided.Text
		}
		return refused, nil
	}
	if got, err := encodeExactly(args); err != nil || !sameJSON(got, decided.Arguments) {
		return nil, fmt.Errorf("adk: the arguments are not those that were approved: %s", decided.Arguments)
	}
	return nil, nil //nolint:nilnil // the tool gets the approved arguments
}

// sameJSON reports whether two objects have the same members, with numbers of the same value.
func sameJSON(a, b json.RawMessage) bool {
	var x, y map[string]any
	if decode(a, &x) != nil || decode(b, &y) != nil {
		return false
	}
	first, err := json.Marshal(exactMap(x))
	second, wrong := json.Marshal(exactMap(y))
	return err == nil && wrong == nil && bytes.Equal(first, second)
}
