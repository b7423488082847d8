package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlude-go/interlude/host/front"
	"github.com/interlude-go/interlude/lifecycle"
)

// dialogTimeout closes a dialog whose client may have crashed. The question stays open.
const dialogTimeout = time.Hour

// withdrawalTimeout limits awaitWithdrawal.
const withdrawalTimeout = time.Second

// awaitWithdrawal lets the client learn that a dialog was withdrawn before the call continues.
// The SDK sends the withdrawal in the background, on the call's stream, which ends with the
// call's result. Without a round trip the withdrawal could be lost and the dialog stay open.
func (c *call) awaitWithdrawal(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, withdrawalTimeout)
	defer cancel()
	_ = c.session.Ping(ctx, nil)
}

// elicit asks one question in a dialog of a client with a session. It returns when the dialog was
// answered or closed, or withdrawn because the question is no longer the person's to answer. The
// SDK's bridge for such clients does not suffice: it asks once, and passes later questions on to
// the client.
func (c *call) elicit(ctx context.Context, q *lifecycle.Question) error {
	request := c.request(q)
	request.RequestedSchema = withoutDefaults(request.RequestedSchema)
	open, withdraw := context.WithTimeout(ctx, dialogTimeout)
	defer withdraw()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for open.Err() == nil {
			err := c.untilGone(open, q.ID)
			if err == nil {
				withdraw()
				return
			}
			if open.Err() == nil {
				c.server.config.Logger.Warn("mcp: a dialog does not follow its run; trying again",
					"run", c.run, "err", err)
			}
			select {
			case <-open.Done():
			case <-time.After(c.server.config.Poll):
			}
		}
	}()
	result, err := c.session.Elicit(open, request)
	gone, late := open.Err() != nil, errors.Is(open.Err(), context.DeadlineExceeded)
	withdraw()
	<-watched
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && late:
		c.skipped[q.ID] = dismissed
		return nil
	case err != nil && gone:
		c.awaitWithdrawal(ctx)
		if request.Mode == "url" { // the person may have accepted, and answered on the page, meanwhile
			c.complete(ctx, request.ElicitationID)
		}
		return nil
	case err != nil: // the client cannot show the dialog, or its values do not fit the schema
		c.server.config.Logger.Info("mcp: a client refused a dialog", "run", c.run, "question", q.ID, "err", err)
		c.skipped[q.ID] = dismissed
		return nil
	}
	r := response{Action: result.Action}
	if result.Content != nil {
		if r.Content, err = json.Marshal(result.Content); err != nil {
			return err
		}
	}
	if err := c.apply(ctx, q, r); err != nil {
		return err
	}
	if c.skipped[q.ID] == onThePage && request.Mode == "url" {
		c.completeOnPage(ctx, q.ID, request.ElicitationID)
	}
	if c.remarks[q.ID] != "" {
		if c.asked++; c.asked > maxRemarks {
			c.skipped[q.ID] = dismissed
		}
	}
	return nil
}

// untilGone waits until the question is no longer the caller's to answer.
func (c *call) untilGone(ctx context.Context, question int) error {
	gone := func(v *front.View) bool {
		for i := range v.Asks {
			if v.Asks[i].ID == question {
				return false
			}
		}
		return true
	}
	for _, err := range c.FollowUntil(ctx, c.run, front.FromNow, gone) {
		if err != nil {
			return err
		}
	}
	return nil
}

// completeOnPage waits for the answer on the page, at most as long as a call is held, and reports it
// to the client, which then closes its notice.
func (c *call) completeOnPage(ctx context.Context, question int, id string) {
	limit, stop := context.WithTimeout(ctx, c.server.config.Hold)
	defer stop()
	if c.untilGone(limit, question) == nil {
		c.complete(ctx, id)
	}
}

func (c *call) complete(ctx context.Context, id string) {
	_ = c.session.NotifyElicitationComplete(ctx, &sdk.ElicitationCompleteParams{ElicitationID: id}) // a courtesy
}

// withoutDefaults removes the defaults from a form: the SDK would fill them in where a person has
// left a field empty.
func withoutDefaults(schema any) any {
	raw, ok := schema.(json.RawMessage)
	var form struct {
		Type       string                                `json:"type"`
		Properties map[string]map[string]json.RawMessage `json:"properties"`
		Required   []string                              `json:"required,omitempty"`
	}
	if !ok || !bytes.Contains(raw, []byte(`"default"`)) || json.Unmarshal(raw, &form) != nil {
		return schema
	}
	for _, p := range form.Properties {
		delete(p, "default")
	}
	out, err := json.Marshal(form)
	if err != nil {
		return schema
	}
	return json.RawMessage(out)
}
