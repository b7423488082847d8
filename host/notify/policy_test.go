package notify

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/lifecycle"
)

// N9: the notice of a question that the host's policy decides waits until it is left to people, and
// is not sent if the policy has settled it. A receiver that keeps a log gets everything at once.
func TestN9NoNoticeOfAPolicysDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		payer := engine.Func(func(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
			if len(t.Answers) > 0 {
				return engine.Done("paid"), nil
			}
			return engine.Ask(engine.Question{Kind: lifecycle.Approval, Prompt: "Pay?",
				Subject: &interaction.Subject{Tool: "pay"}}), nil
		})
		lc, err := lifecycle.New(lifecycle.Config{Engine: payer, Logger: slog.New(slog.DiscardHandler),
			Policy: func(ctx context.Context, p lifecycle.Proposal) (lifecycle.Ruling, error) {
				wait := 1500 * time.Millisecond
				if p.RunID == "late" {
					wait = time.Hour
				}
				select {
				case <-time.After(wait):
				case <-ctx.Done():
				}
				if p.RunID == "moved" {
					bob := &lifecycle.Audience{Users: []string{"bob"}}
					return lifecycle.Ruling{To: bob, Rule: "to-bob", Version: "1"}, nil
				}
				if p.RunID == "approved" {
					return lifecycle.Ruling{Decision: lifecycle.Approve, Rule: "small", Version: "1"}, nil
				}
				return lifecycle.Ruling{}, nil
			}})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- lc.Serve(ctx) }()
		people, log, ann := &receiver{}, &receiver{}, &receiver{}
		h := &host{TB: t, queue: NewMemory(), lc: lc}
		asked := lifecycle.FeedFilter{Types: []string{lifecycle.TypeInputRequired}}
		forAnn := lifecycle.FeedFilter{Types: asked.Types, For: lifecycle.Actor{ID: "ann"}}
		_, stop := h.notify(nil, Endpoint{Name: "people", Sender: people, Filter: asked},
			Endpoint{Name: "ann", Sender: ann, Filter: forAnn},
			Endpoint{Name: "log", Sender: log, Filter: asked, PolicyToo: true})
		h.submit("asked", "approved", "late", "moved")
		require.Empty(t, people.got())
		require.Len(t, log.got(), 4)
		pass(2 * time.Second)
		require.ElementsMatch(t, []string{"asked/4", "moved/4"}, people.got())
		pass(3 * time.Second)
		require.ElementsMatch(t, []string{"asked/4", "moved/4", "late/4"}, people.got())
		require.Equal(t, []string{"asked/4", "late/4"}, ann.got(), "a rule has given the other to bob")
		pass(time.Minute)
		require.Len(t, people.got(), 3)
		stop()
		cancel()
		require.NoError(t, <-served)
		lc.Close()
	})
}

// N9: an argument named policy_until does not put the notice under a policy.
func TestN9AnArgumentIsNoPolicy(t *testing.T) {
	var c Claimed
	c.Body = []byte(`{"run_id":"r","seq":4,"type":"` + lifecycle.TypeInputRequired +
		`","data":{"interaction_id":1,"subject":{"tool":"pay","arguments":{"policy_until":"2020-01-01T00:00:00Z"}}}}`)
	pause, err := new(endpoint).underPolicy(t.Context(), c) // without a client
	require.NoError(t, err)
	require.Zero(t, pause)
}

// away makes bob the deputy of ann until a time.
type away struct {
	until   time.Time
	offline atomic.Bool
}

func (a *away) Principals(_ context.Context, id string, _ time.Time) ([]lifecycle.Principal, error) {
	switch {
	case a.offline.Load():
		return nil, errors.New("the directory does not answer")
	case id == "bob":
		return []lifecycle.Principal{{ID: "ann", Until: a.until}}, nil
	}
	return nil, nil
}

// N10: a person's endpoint gets the notices for the people whose deputy they are at that time, also
// of questions that a policy has left to people. Without a directory, people keep their own notices.
func TestN10ADeputyGetsTheNotice(t *testing.T) {
	for _, policy := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			directory := &away{until: time.Now().Add(time.Hour)}
			cfg := lifecycle.Config{Logger: slog.New(slog.DiscardHandler), Directory: directory,
				Engine: engine.Func(func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
					return engine.Ask(engine.Question{Kind: lifecycle.Approval, Prompt: "Pay?",
						To:      &lifecycle.Audience{Users: []string{"ann"}},
						Subject: &interaction.Subject{Tool: "pay"}}), nil
				})}
			if policy {
				cfg.Policy = func(context.Context, lifecycle.Proposal) (lifecycle.Ruling, error) {
					time.Sleep(time.Second) // the notices wait for it
					return lifecycle.Ruling{}, nil
				}
			}
			lc, err := lifecycle.New(cfg)
			require.NoError(t, err)
			ctx, cancel := context.WithCancel(t.Context())
			served := make(chan error, 1)
			go func() { served <- lc.Serve(ctx) }()
			h := &host{TB: t, queue: NewMemory(), lc: lc}
			got := make(map[string]*receiver)
			var endpoints []Endpoint
			for _, person := range []string{"ann", "bob", "carl"} {
				got[person] = &receiver{}
				endpoints = append(endpoints, Endpoint{Name: person, Sender: got[person], Filter: lifecycle.FeedFilter{
					Types: []string{lifecycle.TypeInputRequired}, For: lifecycle.Actor{ID: person}}})
			}
			_, stop := h.notify(nil, endpoints...)
			h.submit("away")
			pass(10 * time.Second)
			directory.offline.Store(true)
			h.submit("offline")
			pass(10 * time.Second)
			directory.offline.Store(false)
			pass(time.Hour)
			h.submit("back")
			pass(10 * time.Second)
			require.Equal(t, []string{"away/4", "offline/4", "back/4"}, got["ann"].got())
			require.Equal(t, []string{"away/4"}, got["bob"].got())
			require.Empty(t, got["carl"].got())
			stop()
			cancel()
			require.NoError(t, <-served)
			lc.Close()
		})
	}
}
