package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/process"
	"github.com/interlude-go/interlude/fsm"
)

// OutputKey is where an agent may put structured output into the _meta of its answer to
// session/prompt; the protocol has no other place.
const OutputKey = "interlude/output"

// promptCall is a call of session/prompt. It may outlive the turn that began it, while a permission
// request waits.
type promptCall struct {
	done   chan struct{}
	result promptResult // to be read when done is closed
	err    error        // to be read when done is closed
}

// promptResult is the used part of the agent's answer to session/prompt. The structured output
// stays as written.
//
//nolint:tagliatelle // the protocol's words
type promptResult struct {
	StopReason sdk.StopReason             `json:"stopReason"`
	Usage      *sdk.Usage                 `json:"usage"`
	Meta       map[string]json.RawMessage `json:"_meta"`
}

func (a *agent) prompt(session, text string) *promptCall {
	p := &promptCall{done: make(chan struct{})}
	go func() { // ends with the process at the latest
		defer close(p.done)
		p.err = a.call(context.Background(), sdk.AgentMethodSessionPrompt, sdk.PromptRequest{
			SessionId: sdk.SessionId(session), Prompt: []sdk.ContentBlock{sdk.TextBlock(text)},
		}, &p.result)
	}()
	return p
}

func (a *agent) stop() error {
	return a.notify(sdk.AgentMethodSessionCancel, sdk.CancelNotification{SessionId: sdk.SessionId(a.session)})
}

func (p *promptCall) endsWithin(d time.Duration) bool {
	patience := time.NewTimer(d)
	defer patience.Stop()
	select {
	case <-p.done:
		return true
	case <-patience.C:
		return false
	}
}

func (r promptResult) usage() engine.Usage {
	if r.Usage == nil {
		return engine.Usage{}
	}
	return engine.Usage{InputTokens: int64(max(0, r.Usage.InputTokens)),
		OutputTokens: int64(max(0, r.Usage.OutputTokens))}
}

// errStopped is an unsuccessful end of a prompt.
type errStopped struct {
	reason sdk.StopReason
	why    string
}

func (s errStopped) Error() string { return fmt.Sprintf("the agent stopped: %s (%s)", s.why, s.reason) }

// endError is nil if the agent finished its turn.
func (r promptResult) endError() error {
	switch r.StopReason {
	case sdk.StopReasonEndTurn:
		return nil
	case sdk.StopReasonMaxTokens:
		return errStopped{r.StopReason, "its model's limit of tokens is reached"}
	case sdk.StopReasonMaxTurnRequests:
		return errStopped{r.StopReason, "it made as many requests to its model as one turn may"}
	case sdk.StopReasonRefusal:
		return errStopped{r.StopReason, "it refuses to continue, and removes this prompt from its session"}
	case sdk.StopReasonCancelled:
		return errStopped{r.StopReason, "its turn was canceled, but not by this host"}
	}
	return errStopped{r.StopReason, "for a reason that this version does not know"}
}

func (t *turn) structuredOutput(r promptResult) json.RawMessage {
	body := r.Meta[OutputKey]
	if len(body) > t.cfg.MaxOutput {
		t.diagnose(fsm.WarnEngineOutputTruncated, fmt.Sprintf("structured output of %d bytes is left out: want at "+
			"most %d", len(body), t.cfg.MaxOutput))
		return nil
	}
	if body == nil {
		return nil
	}
	return json.RawMessage(t.agent.redacted(string(body)))
}

func describe(err error) string {
	var said *sdk.RequestError
	if !errors.As(err, &said) {
		return err.Error()
	}
	text := fmt.Sprintf("%s (code %d)", said.Message, said.Code)
	if body, err := json.Marshal(said.Data); err == nil && said.Data != nil {
		text += ": " + string(body)
	}
	return process.Clip(text, 2000)
}
