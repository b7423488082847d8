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
// session/prompt. The protocol has no other place.
const OutputKey = "interlude/output"

// prompting is a prompt that the agent works on. It may outlive the turn that began it, while a
// permission request is held.
type prompting struct {
	done   chan struct{}
	result promptResult // of done
	err    error        // of done
}

// promptResult is the agent's answer to session/prompt, as far as it is used. The structured output
// stays as it was written.
//
//nolint:tagliatelle // the protocol's words
type promptResult struct {
	StopReason sdk.StopReason             `json:"stopReason"`
	Usage      *sdk.Usage                 `json:"usage"`
	Meta       map[string]json.RawMessage `json:"_meta"`
}

// prompt gives the agent its input.
func (a *agent) prompt(session, text string) *prompting {
	p := &prompting{done: make(chan struct{})}
	go func() { // ends with the process at the latest
		defer close(p.done)
		p.err = a.call(context.Background(), sdk.AgentMethodSessionPrompt, sdk.PromptRequest{
			SessionId: sdk.SessionId(session), Prompt: []sdk.ContentBlock{sdk.TextBlock(text)},
		}, &p.result)
	}()
	return p
}

// stop tells the agent to stop its work.
func (a *agent) stop() error {
	return a.notify(sdk.AgentMethodSessionCancel, sdk.CancelNotification{SessionId: sdk.SessionId(a.session)})
}

// within reports whether the prompt ended in time.
func (p *prompting) within(d time.Duration) bool {
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

// stopped is an end of a turn that is no success.
type stopped struct {
	reason sdk.StopReason
	why    string
}

func (s stopped) Error() string { return fmt.Sprintf("the agent stopped: %s (%s)", s.why, s.reason) }

// verdict is nil when the agent ended its turn by itself.
func (r promptResult) verdict() error {
	switch r.StopReason {
	case sdk.StopReasonEndTurn:
		return nil
	case sdk.StopReasonMaxTokens:
		return stopped{r.StopReason, "its model's limit of tokens is reached"}
	case sdk.StopReasonMaxTurnRequests:
		return stopped{r.StopReason, "it made as many requests to its model as one turn may"}
	case sdk.StopReasonRefusal:
		return stopped{r.StopReason, "it refuses to go on, and takes this prompt out of its session"}
	case sdk.StopReasonCancelled:
		return stopped{r.StopReason, "its turn was canceled, by nobody here"}
	}
	return stopped{r.StopReason, "for a reason that is not known here"}
}

// structured is the structured output that the agent handed over.
func (t *turn) structured(r promptResult) json.RawMessage {
	body := r.Meta[OutputKey]
	if len(body) > t.cfg.MaxOutput {
		t.diagnose(fsm.WarnEngineOutputTruncated, fmt.Sprintf("structured output of %d bytes is left out: want at "+
			"most %d", len(body), t.cfg.MaxOutput))
		return nil
	}
	if body == nil {
		return nil
	}
	return json.RawMessage(t.agent.text(string(body)))
}

// reason describes an error of the agent for a person.
func reason(err error) string {
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
