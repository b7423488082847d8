package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

func textResult(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

func failure(text string) *sdk.CallToolResult {
	r := textResult(text)
	r.IsError = true
	return r
}

func resultOf(r *lifecycle.Run) *sdk.CallToolResult {
	switch r.State {
	case lifecycle.StateSucceeded:
		text := r.FinalText
		if text == "" {
			text = string(r.Output)
		}
		result := textResult(text)
		if strings.HasPrefix(strings.TrimSpace(string(r.Output)), "{") { // earlier revisions allow objects only
			result.StructuredContent = r.Output
		}
		return result
	case lifecycle.StateCanceled:
		return failure("The run was canceled." + sentence(r.CancelReason))
	}
	text := "The run failed."
	if r.Error != nil {
		text = "The run failed with " + string(r.Error.Code) + "." + sentence(r.Error.Message)
	}
	return failure(text)
}

func sentence(text string) string {
	if text == "" {
		return ""
	}
	return " " + text
}

// serverFaults are the failures of a run that are the server's fault and not the agent's result.
var serverFaults = map[lifecycle.Code]bool{
	lifecycle.CodeEngineUnavailable:              true,
	lifecycle.CodeOrchestratorRestartInterrupted: true,
	lifecycle.CodeTurnInterrupted:                true,
	lifecycle.CodeTurnRepeatLimitExceeded:        true,
	lifecycle.CodeWorkspaceMissing:               true,
	lifecycle.CodeSessionResumeFailed:            true,
	lifecycle.CodeInteractionProcessLost:         true,
}

type openQuestion struct {
	ID       int    `json:"id"`
	Kind     string `json:"kind"`
	Text     string `json:"text"`
	MayReply bool   `json:"may_reply"`
	Page     string `json:"page,omitempty"`
}

// pendingRun is the structured content of the result for a run that has not ended.
type pendingRun struct {
	RunID     string         `json:"run_id"`
	State     string         `json:"state"`
	Status    string         `json:"status"`
	Questions []openQuestion `json:"questions"`
	Page      string         `json:"page,omitempty"`
}

func (c *call) pending(v *front.View) *sdk.CallToolResult {
	p := pendingRun{RunID: c.run, State: string(v.Run.State), Status: v.Status(), Questions: []openQuestion{}}
	page := func(int) string { return "" }
	if c.server.config.Page != nil {
		page = func(n int) string { return c.server.config.Page(c.run, n) }
	}
	p.Page = page(0)
	for i, all := range [][]lifecycle.Question{v.Asks, v.Others} {
		for j := range all {
			q := &all[j]
			p.Questions = append(p.Questions, openQuestion{q.ID, string(q.Kind), v.Message(q), i == 0, page(q.ID)})
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "The run has not ended: it %s.", strings.TrimSuffix(p.Status, "."))
	for _, n := range sortedKeys(c.skipped) {
		if c.skipped[n] == dismissed {
			fmt.Fprintf(&b, " The person has not answered question %d; it stays open.", n)
		}
	}
	if p.Page != "" && len(p.Questions) > 0 {
		fmt.Fprintf(&b, " A person can answer at %s.", p.Page)
	}
	fmt.Fprintf(&b, " Call %s with run_id %q to continue. Do not answer for the person.", c.server.config.WaitTool,
		c.run)
	result := textResult(b.String())
	result.StructuredContent = p
	return result
}

// maxMessage limits the text of a progress notification, in bytes.
const maxMessage = 500

func cut(text string) string {
	if len(text) > maxMessage {
		text = text[:interaction.Break(text, maxMessage)] + " …"
	}
	return text
}

func missingTasks() error {
	data, _ := json.Marshal(map[string]any{"requiredCapabilities": map[string]any{
		"extensions": map[string]any{tasksExtension: map[string]any{}}}})
	return &jsonrpc.Error{Code: sdk.CodeMissingRequiredClientCapabilities,
		Message: "the client must support the extension " + tasksExtension, Data: data}
}

func waitTool(c *Config) Tool {
	t := Tool{Name: c.WaitTool, Title: "Wait for a run",
		Description: "Waits for a run that another tool has started, and returns its result, or its state after " +
			"at most " + c.Hold.String() + ". It answers no questions.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"run_id":{"type":"string","maxLength":128,` +
			`"description":"The run_id of an earlier result"}},"required":["run_id"],"additionalProperties":false}`),
		Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}, Spec: noSpec}
	if err := t.complete(map[string]bool{}); err != nil {
		panic(err) // only Config.WaitTool is not ours
	}
	return t
}

func waitRun(arguments json.RawMessage) string {
	var a struct {
		RunID string `json:"run_id"`
	}
	_ = json.Unmarshal(arguments, &a) // they fit the schema
	return a.RunID
}

func noSpec(context.Context, lifecycle.Actor, json.RawMessage) (lifecycle.Spec, error) {
	return lifecycle.Spec{}, internalError()
}
