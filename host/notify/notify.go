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
	// Client reads the feeds; Authorize is called for its actor.
	Client *lifecycle.Client
	// Queue stores pending notices. It must be as durable as the client's store.
	Queue Queue
	// Endpoints are the receivers.
	Endpoints []Endpoint
	// MaxRuns limits how many runs may have notices of an endpoint in the queue before its feed
	// waits; 0 is DefaultMaxRuns. The last batch may exceed it by MaxBatch. It counts runs, so that
	// a failure in one long run does not delay others.
	MaxRuns int
	// Poll is the interval at which the queue is read for notices of other processes; 0 is
	// DefaultPoll.
	Poll time.Duration
	// Clock decides whether a notice is due. The clocks of processes that share a queue should
	// roughly agree: a difference duplicates notices or delays retries. Nil: lifecycle.SystemClock.
	Clock lifecycle.Clock
	// Logger logs failures. Nil: slog.Default.
	Logger *slog.Logger
}

// Defaults and limits of Config and Endpoint.
const (
	DefaultMaxRuns     = 1000
	DefaultPoll        = 5 * time.Second
	DefaultTimeout     = 15 * time.Second
	DefaultConcurrency = 4
	// MaxBatch is the maximum number of notices added to the queue together.
	MaxBatch = 100
)

// Endpoint is a receiver of notices.
type Endpoint struct {
	// Name is 1 to 56 of [A-Za-z0-9._-], beginning with a letter or digit. It identifies the
	// endpoint's feed and notices: a renamed endpoint starts with the next event.
	Name string
	// Sender delivers the notices.
	Sender Sender
	// Filter selects the events; zero selects all.
	Filter lifecycle.FeedFilter
	// PolicyToo also sends, and at once, the questions that the host's policy decides
	// (lifecycle.Config.Policy): for a receiver that keeps a log. By default they are sent when
	// they are left to people, and not at all if settled before.
	PolicyToo bool
	// Retry configures repeated attempts.
	Retry Retry
	// Timeout limits an attempt; 0 is DefaultTimeout.
	Timeout time.Duration
	// Concurrency limits how many notices, of different runs, this process sends to the endpoint at
	// the same time; 0 is DefaultConcurrency.
	Concurrency int
}

// Retry configures repeated attempts. The pause doubles after each attempt, and half of it is
// random, which spreads the load on a receiver that was down. A receiver may request a longer pause
// (Retry-After), up to Max.
type Retry struct {
	// Attempts is the number of attempts before a notice is a dead letter; 0 is 20, which with the
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

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,55}$`)

// FeedName is the name of an endpoint's feed, for Client.CreateFeed, Feeds and DeleteFeed.
func FeedName(endpoint string) string { return "notify/" + endpoint }

// New returns a Notifier. It starts no goroutine.
func New(cfg Config) (*Notifier, error) {
	switch {
	case cfg.Client == nil:
		return nil, errors.New("notify: Config.Client is nil, want a client")
	case cfg.Queue == nil:
		return nil, errors.New("notify: Config.Queue is nil, want a queue")
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
			return nil, fmt.Errorf("notify: two endpoints have the name %q, want different names", e.Name)
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
		fault = "Name is invalid, want 1 to 56 of [A-Za-z0-9._-], beginning with a letter or digit"
	case e.Sender == nil:
		fault = "Sender is nil, want a sender"
	case e.Timeout < 0:
		fault = "Timeout is negative, want 0 or more"
	case e.Concurrency < 0:
		fault = "Concurrency is negative, want 0 or more"
	case e.Retry.Attempts < 0 || e.Retry.First < 0 || e.Retry.Max < 0:
		fault = "Retry has a negative field, want 0 or more"
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

// Serve sends notices until ctx ends, and then waits up to 5 s for the senders, which get the same
// ctx; the log names each notice whose sender has not returned by then. If an endpoint's feed or
// queue fails, Serve logs the error and retries, without delaying other endpoints.
//
// The first Serve creates an endpoint's feed, which starts with the next event. For an earlier
// start or a longer maximum lag, call Client.CreateFeed with FeedName.
func (n *Notifier) Serve(ctx context.Context) {
	var loops sync.WaitGroup
	for _, e := range n.endpoints {
		loops.Go(func() { e.enqueue(ctx) })
		loops.Go(func() { e.deliver(ctx) })
	}
	loops.Wait()
}
