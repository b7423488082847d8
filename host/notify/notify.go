package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// Config configures a Notifier. Client and Queue are required.
type Config struct {
	// Client reads the feeds; its actor is the one that Authorize is asked about.
	Client *lifecycle.Client
	// Queue keeps what is to be sent. It must be as durable as the client's store.
	Queue Queue
	// Endpoints are those to which notices are sent.
	Endpoints []Endpoint
	// MaxRuns is how many runs may have notices of an endpoint in the queue before its feed waits;
	// 0 is DefaultMaxRuns. A batch that was begun is finished, so it may be exceeded by MaxBatch.
	// It is runs that are bounded, so that a long one that fails does not hold up the others.
	MaxRuns int
	// Poll is how often the queue is read for notices that another process has added or left; 0 is
	// DefaultPoll.
	Poll time.Duration
	// Clock judges when a notice is due. The clocks of the processes on one queue need to agree
	// roughly: a difference doubles notices or delays retries. Nil: lifecycle.SystemClock.
	Clock lifecycle.Clock
	// Logger gets what failed. Nil: slog.Default.
	Logger *slog.Logger
}

// Defaults and bounds of Config and Endpoint.
const (
	DefaultMaxRuns     = 1000
	DefaultPoll        = 5 * time.Second
	DefaultTimeout     = 15 * time.Second
	DefaultConcurrency = 4
	// MaxBatch is how many notices are added to the queue together.
	MaxBatch = 100
)

// Endpoint is a receiver of notices.
type Endpoint struct {
	// Name is 1 to 56 of [A-Za-z0-9._-], beginning with a letter or digit. It names the endpoint's
	// feed and its notices in the queue, so another one is another endpoint, which begins anew.
	Name string
	// Sender delivers the notices.
	Sender Sender
	// Filter chooses the events; the zero one chooses all. See lifecycle.FeedFilter.
	Filter lifecycle.FeedFilter
	// Retry says how often and when a notice is tried again.
	Retry Retry
	// Timeout bounds an attempt; 0 is DefaultTimeout.
	Timeout time.Duration
	// Concurrency is how many notices, of different runs, this process sends to the endpoint at the
	// same time; 0 is DefaultConcurrency.
	Concurrency int
}

// Retry says when notices that were not accepted are sent again. The pause doubles from attempt to
// attempt, and half of it is random, so that receivers which were down are not hit by all at once.
// A receiver that asks for a longer pause (Retry-After) gets it, up to Max.
type Retry struct {
	// Attempts is how often a notice is sent before it is a dead letter; 0 is 20, which with the
	// other defaults takes one to two days.
	Attempts int
	// First is the pause after the first attempt; 0 is 5 seconds.
	First time.Duration
	// Max is the longest pause; 0 is 6 hours.
	Max time.Duration
}

// Defaults of Retry.
const (
	DefaultAttempts = 20
	DefaultFirst    = 5 * time.Second
	DefaultMax      = 6 * time.Hour
)

// Notifier sends notices. It is safe for concurrent use.
type Notifier struct {
	config    Config
	endpoints []*endpoint
}

// namePattern is what feeds may be named, less the prefix.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,55}$`)

// FeedName is the name of an endpoint's feed, for Client.CreateFeed, Feeds and DeleteFeed.
func FeedName(endpoint string) string { return "notify/" + endpoint }

// New returns a Notifier. It starts nothing.
func New(cfg Config) (*Notifier, error) {
	switch {
	case cfg.Client == nil:
		return nil, errors.New("notify: Config.Client is nil")
	case cfg.Queue == nil:
		return nil, errors.New("notify: Config.Queue is nil")
	case cfg.MaxRuns < 0:
		return nil, fmt.Errorf("notify: Config.MaxRuns is %d, want 0 or more", cfg.MaxRuns)
	case cfg.Poll < 0:
		return nil, fmt.Errorf("notify: Config.Poll is %s, want 0 or more", cfg.Poll)
	}
	setDefault(&cfg.MaxRuns, DefaultMaxRuns)
	setDefault(&cfg.Poll, DefaultPoll)
	if cfg.Clock == nil {
		cfg.Clock = lifecycle.SystemClock{}
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	n := &Notifier{config: cfg}
	for _, e := range cfg.Endpoints {
		if n.endpoint(e.Name) != nil {
			return nil, fmt.Errorf("notify: two endpoints have the name %q", e.Name)
		}
		checked, err := newEndpoint(e, &n.config)
		if err != nil {
			return nil, err
		}
		n.endpoints = append(n.endpoints, checked)
	}
	return n, nil
}

func newEndpoint(e Endpoint, cfg *Config) (*endpoint, error) {
	fault := ""
	switch {
	case !namePattern.MatchString(e.Name):
		fault = "Name is no name: want 1 to 56 of [A-Za-z0-9._-], beginning with a letter or digit"
	case e.Sender == nil:
		fault = "Sender is nil"
	case e.Timeout < 0:
		fault = "Timeout is negative"
	case e.Concurrency < 0:
		fault = "Concurrency is negative"
	case e.Retry.Attempts < 0 || e.Retry.First < 0 || e.Retry.Max < 0:
		fault = "Retry has a negative field"
	}
	if fault != "" {
		return nil, fmt.Errorf("notify: endpoint %.80q: %s", e.Name, fault)
	}
	setDefault(&e.Timeout, DefaultTimeout)
	setDefault(&e.Concurrency, DefaultConcurrency)
	setDefault(&e.Retry.Attempts, DefaultAttempts)
	setDefault(&e.Retry.First, DefaultFirst)
	setDefault(&e.Retry.Max, DefaultMax)
	return &endpoint{Endpoint: e, config: cfg, logger: cfg.Logger.With("endpoint", e.Name),
		added: make(chan struct{}, 1), attempted: make(chan struct{}, 1)}, nil
}

// setDefault sets a zero field.
func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (n *Notifier) endpoint(name string) *endpoint {
	i := slices.IndexFunc(n.endpoints, func(e *endpoint) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return n.endpoints[i]
}

// Serve sends notices until ctx ends, and then waits for the senders, which get the same ctx, for 5 s
// at most; the log names a notice whose sender has not returned by then. An
// endpoint whose feed or queue fails is tried again; the log says why, and no other endpoint waits
// for it.
//
// An endpoint begins with the events after its feed was created, which the first Serve does. Call
// Client.CreateFeed with FeedName for an earlier beginning, or a longer lag.
func (n *Notifier) Serve(ctx context.Context) {
	var loops sync.WaitGroup
	for _, e := range n.endpoints {
		loops.Go(func() { e.enqueue(ctx) })
		loops.Go(func() { e.deliver(ctx) })
	}
	loops.Wait()
}
