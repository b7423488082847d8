package adk

import (
	"encoding/json"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
	"google.golang.org/genai"

	"google.golang.org/adk/v2/session"
	"google.golang.org/adk/v2/tool/toolconfirmation"
	"google.golang.org/adk/v2/workflow"

	"github.com/interlude-go/interlude/interaction"
)

type Kind string

// Kinds of interrupts.
const (
	// Confirmation: a tool wants to be confirmed before it runs.
	Confirmation Kind = "confirmation"
	// Input: a workflow node requests input.
	Input Kind = "input"
	// Result: a long-running tool was called, and its result comes from outside.
	Result Kind = "result"
)

type Interrupt struct {
	// ID is the id of the call and its response.
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	// Agent is the waiting agent's name.
	Agent string `json:"agent,omitempty"`
	// Tool and Args are the waiting call's: of the tool to confirm, or the long-running tool. Tool
	// is empty for Input.
	Tool string         `json:"tool,omitempty"`
	Args map[string]any `json:"args,omitempty"`
	// Message is the tool's or node's text for the person.
	Message string `json:"message,omitempty"`
	// Payload is its additional data; after a restart as decoded from JSON.
	Payload any `json:"payload,omitempty"`
	// Schema is the required form of the input, or nil.
	Schema *jsonschema.Schema `json:"schema,omitempty"`
	// Interim is a long-running tool's immediate result, or nil.
	Interim map[string]any `json:"interim,omitempty"`
	// Question is the asked question: empty for Config.Question, set for Config.Reply.
	Question interaction.Question `json:"question"`
}

// waiting returns the calls without a response: calls marked as long-running, in order, minus
// answered ones.
func waiting(events []*session.Event) []Interrupt {
	var all []Interrupt
	for _, ev := range events {
		for _, part := range parts(ev) {
			switch {
			case part.FunctionCall != nil && slices.Contains(ev.LongRunningToolIDs, part.FunctionCall.ID):
				all = append(all, interruptOf(ev, part.FunctionCall))
			case part.FunctionResponse != nil && ev.Author == userAuthor:
				all = slices.DeleteFunc(all, func(i Interrupt) bool { return i.ID == part.FunctionResponse.ID })
			case part.FunctionResponse != nil:
				for i := range all {
					if all[i].ID == part.FunctionResponse.ID {
						all[i].Interim = part.FunctionResponse.Response
					}
				}
			}
		}
	}
	return all
}

const userAuthor = "user"

func parts(ev *session.Event) []*genai.Part {
	if ev == nil || ev.Content == nil {
		return nil
	}
	return ev.Content.Parts
}

func interruptOf(ev *session.Event, call *genai.FunctionCall) Interrupt {
	i := Interrupt{ID: call.ID, Kind: Result, Agent: ev.Author, Tool: call.Name, Args: call.Args}
	switch call.Name {
	case toolconfirmation.FunctionCallName:
		i.Kind, i.Tool, i.Args = Confirmation, "", nil
		if original, err := toolconfirmation.OriginalCallFrom(call); err == nil {
			i.Tool, i.Args = original.Name, original.Args
		}
		var wanted toolconfirmation.ToolConfirmation
		if convert(call.Args["toolConfirmation"], &wanted) == nil {
			i.Message, i.Payload = wanted.Hint, wanted.Payload
		}
	case workflow.WorkflowInputFunctionCallName:
		i.Kind, i.Tool, i.Args = Input, "", nil
		var wanted session.RequestInput
		if ev.RequestedInput != nil {
			wanted = *ev.RequestedInput
		} else if convert(call.Args, &wanted) != nil {
			return i
		}
		i.Message, i.Payload, i.Schema = wanted.Message, wanted.Payload, wanted.ResponseSchema
	}
	return i
}

func (i Interrupt) function() string {
	switch i.Kind {
	case Confirmation:
		return toolconfirmation.FunctionCallName
	case Input:
		return workflow.WorkflowInputFunctionCallName
	case Result:
	}
	return i.Tool
}

func convert(v, into any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}
