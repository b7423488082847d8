package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/engine/netguard"
	"github.com/interlude-go/interlude/lifecycle"
)

// WebhookConfig configures a Webhook. URL and Secrets are required.
type WebhookConfig struct {
	URL string
	// Secrets sign, each with a signature: "whsec_" and the base64 of 24 to 64 random bytes. To
	// rotate, prepend a new one, and remove the old one once the receiver has the new one.
	Secrets []string
	// Network restricts the addresses.
	Network netguard.Network
	// Clock is the time in the signature. Nil: lifecycle.SystemClock.
	Clock lifecycle.Clock
}

// Webhook is a Sender of webhooks in the format of https://www.standardwebhooks.com: a POST with
// the body
//
//	{"type": "user.input.required", "timestamp": "2026-03-01T12:00:00Z", "data": {the event}}
//
// and three headers: the notice's ID, the time of the attempt, and the signatures. A 2xx response
// accepts the notice, 410 makes it a dead letter, and any other response, including a redirect, is
// a failed attempt. See Verify.
type Webhook struct {
	to     *url.URL
	keys   [][]byte
	client *http.Client
	clock  lifecycle.Clock
}

// NewWebhook returns a Webhook.
func NewWebhook(cfg WebhookConfig) (*Webhook, error) {
	to, err := cfg.Network.Parse(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("notify: %w", err)
	}
	if len(cfg.Secrets) == 0 {
		return nil, errors.New("notify: WebhookConfig.Secrets is empty, want a secret that signs")
	}
	w := &Webhook{to: to, client: cfg.Network.Client(), clock: cfg.Clock}
	for _, s := range cfg.Secrets {
		key, err := parseSecret(s)
		if err != nil {
			return nil, err
		}
		w.keys = append(w.keys, key)
	}
	if w.clock == nil {
		w.clock = lifecycle.SystemClock{}
	}
	return w, nil
}

type payload struct {
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"`
	Data      lifecycle.Event `json:"data"`
}

// Send posts the notice.
func (w *Webhook) Send(ctx context.Context, n Notice) error {
	body, err := json.Marshal(payload{n.Event.Type, n.Event.TS, n.Event})
	if err != nil {
		return Permanent(err)
	}
	timestamp := strconv.FormatInt(w.clock.Now().Unix(), 10)
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", userAgent)
	header.Set(HeaderID, n.ID)
	header.Set(HeaderTimestamp, timestamp)
	header.Set(HeaderSignature, sign(w.keys, n.ID, timestamp, body))
	return post(ctx, w.client, w.clock, w.to, header, bytes.NewReader(body))
}

const userAgent = "interlude-notify/1"
