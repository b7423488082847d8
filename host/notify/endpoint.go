package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/interlude-go/interlude/lifecycle"
)

// endpoint serves an Endpoint: one goroutine moves events from its feed to the queue, one sends
// them.
type endpoint struct {
	Endpoint
	config *Config
	logger *slog.Logger
	// added and attempted wake the other goroutine before its next poll: notices were added to the
	// queue, or an attempt's outcome was stored, so there may be room.
	added, attempted chan struct{}
}

// outcomeTimeout limits the storing of an attempt's outcome. A claim lasts for an attempt plus this
// time, so no other process sends the notice before its outcome is stored.
const outcomeTimeout = 15 * time.Second

// enqueue adds the feed's events to the queue until ctx ends. A feed can stay lost until an
// operator resets it, so the loss is logged once, and again only after the feed has worked in
// between.
func (e *endpoint) enqueue(ctx context.Context) {
	lost := false
	for ctx.Err() == nil {
		err := e.readFeed(ctx, func() {
			if lost {
				lost = false
				e.logger.Info("feed of notices works again")
			}
		})
		if ctx.Err() != nil {
			return
		}
		switch {
		case !errors.Is(err, lifecycle.ErrFeedLost):
			e.logger.Error("feed of notices: retrying after an error", "err", err)
		case !lost:
			lost = true
			e.logger.Error("feed of notices is lost: reset the endpoint", "err", err)
		}
		_ = e.wait(ctx, e.config.Poll, nil) // the loop checks ctx
	}
}

// readFeed adds events until an error, and calls onEvent for each. An event is acknowledged after
// it was added; a crash in between adds it again, without effect while it is in the queue.
func (e *endpoint) readFeed(ctx context.Context, onEvent func()) error {
	var batch []Entry
	for event, err := range e.config.Client.Feed(ctx, FeedName(e.Name), e.Filter) {
		if err != nil {
			return err
		}
		onEvent()
		body, err := json.Marshal(event.Event)
		if err != nil {
			return fmt.Errorf("notify: event %s: %w", event.ID(), err)
		}
		batch = append(batch, Entry{RunID: event.RunID, Seq: event.Seq, Body: body})
		if event.More && len(batch) < MaxBatch {
			continue
		}
		if err := e.waitForRoom(ctx); err != nil {
			return err
		}
		if err := e.config.Queue.Add(ctx, e.Name, batch, e.config.Clock.Now()); err != nil {
			return err
		}
		batch = batch[:0]
		signal(e.added)
		if err := event.Ack(ctx); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (e *endpoint) waitForRoom(ctx context.Context) error {
	for {
		count, err := e.config.Queue.Count(ctx, e.Name)
		if err != nil {
			return err
		}
		if count.Runs < e.config.MaxRuns {
			return nil
		}
		if err := e.wait(ctx, e.config.Poll, e.attempted); err != nil {
			return err
		}
	}
}

func (e *endpoint) deliver(ctx context.Context) {
	var sends sync.WaitGroup
	defer sends.Wait()
	done := make(chan struct{}, e.Concurrency)
	sending := 0
	for ctx.Err() == nil {
		pause, wake := e.config.Poll, e.added
		if room := e.Concurrency - sending; room > 0 {
			claimed, next, err := e.claim(ctx, room)
			if err != nil && ctx.Err() == nil {
				e.logger.Error("queue of notices: retrying after an error", "err", err)
			}
			for _, p := range claimed {
				sending++
				sends.Go(func() {
					e.send(ctx, p)
					done <- struct{}{}
				})
			}
			if !next.IsZero() {
				pause = min(pause, max(0, next.Sub(e.config.Clock.Now())))
			}
		}
		if sending == e.Concurrency { // nothing can be claimed before a send ends
			wake, pause = nil, e.config.Poll
		}
		timer, stop := e.config.Clock.Timer(pause)
		select {
		case <-ctx.Done():
		case <-wake:
		case <-timer:
		case <-done:
			sending--
		}
		stop()
	}
}

// claim claims up to n notices for the duration of an attempt and its outcome. Next is the next due
// time; zero if none or unknown. The end of ctx does not interrupt it: a claim that is stored, but
// not returned, would delay its notices until it expires.
func (e *endpoint) claim(ctx context.Context, n int) (claimed []Claimed, next time.Time, err error) {
	now := e.config.Clock.Now()
	store, cancel := context.WithTimeout(context.WithoutCancel(ctx), outcomeTimeout)
	defer cancel()
	return e.config.Queue.Claim(store, e.Name, now, now.Add(e.Timeout+outcomeTimeout), n)
}

func (e *endpoint) send(ctx context.Context, c Claimed) {
	pause, err := e.underPolicy(ctx, c)
	if err == nil && pause == 0 {
		err = e.attempt(ctx, c)
	}
	now := e.config.Clock.Now()
	store, cancel := context.WithTimeout(context.WithoutCancel(ctx), outcomeTimeout)
	defer cancel()
	var after *AfterError
	errors.As(err, &after)
	logger := e.logger.With("notice", c.Key().ID(), "attempt", c.Attempt)
	var stored error
	switch {
	case pause > 0:
		stored = e.config.Queue.Retry(store, e.Name, c, now.Add(pause), "hidden: the host's policy decides")
	case err == nil || errors.Is(err, errDecided):
		stored = e.config.Queue.Remove(store, e.Name, c.Key())
	case ctx.Err() != nil: // this process ends; the receiver is not at fault
		stored = e.config.Queue.Retry(store, e.Name, c, now, "interrupted: "+reason(err))
	case errors.Is(err, ErrPermanent) || c.Attempt >= e.Retry.Attempts:
		logger.Error("notice is a dead letter", "err", err)
		stored = e.config.Queue.Bury(store, e.Name, c, now, reason(err))
	default:
		pause := e.Retry.pause(c.Attempt, rand.Float64())
		if after != nil {
			pause = max(pause, min(after.Pause, e.Retry.Max))
		}
		logger.Warn("notice was not accepted", "pause", pause, "err", err)
		stored = e.config.Queue.Retry(store, e.Name, c, now.Add(pause), reason(err))
	}
	if stored != nil { // the claim expires, and the notice is sent again
		logger.Error("the outcome of an attempt could not be stored", "err", stored)
	}
	signal(e.attempted)
}

// errDecided: the policy has settled the question, or asks others.
var errDecided = errors.New("notify: the host's policy has decided the question")

// underPolicy returns for how long the notice of a question must wait for the host's policy, and
// errDecided if no one needs it any more.
func (e *endpoint) underPolicy(ctx context.Context, c Claimed) (pause time.Duration, _ error) {
	if e.PolicyToo || !bytes.Contains(c.Body, []byte(`"policy_until"`)) {
		return 0, nil
	}
	var n Notice
	if err := json.Unmarshal(c.Body, &n.Event); err != nil || n.Event.Type != lifecycle.TypeInputRequired {
		return 0, nil // attempt reports it
	}
	var asked lifecycle.InputRequired // an argument of the call may have that name, too
	if err := n.Event.Decode(&asked); err != nil || asked.PolicyUntil.IsZero() {
		return 0, nil //nolint:nilerr // as above
	}
	q, err := OpenQuestion(ctx, e.config.Client, n)
	switch now := e.config.Clock.Now(); {
	case err != nil:
		return 0, err
	case q == nil || !e.Filter.For.IsZero() &&
		!q.To.AdmitsAny(e.config.Client.WithPrincipals(ctx, e.Filter.For)): // settled, or for others now
		return 0, errDecided
	case q.Hidden(now): // soon at first, since most policies are quick
		return min(q.HiddenUntil().Sub(now), max(time.Second, now.Sub(q.AskedAt))), nil
	}
	return 0, nil
}

// abandonAfter is how long Serve waits for a sender after its context has ended.
const abandonAfter = 5 * time.Second

// attempt calls the sender. A call that does not return counts towards the endpoint's Concurrency
// until Serve ends, which limits hung calls.
func (e *endpoint) attempt(ctx context.Context, c Claimed) (err error) {
	n := Notice{Endpoint: e.Name, Attempt: c.Attempt}
	if err := json.Unmarshal(c.Body, &n.Event); err != nil {
		return Permanent(fmt.Errorf("notify: stored event: %w", err))
	}
	n.ID = n.Event.ID()
	if n.Summary, err = e.summary(ctx, n); err != nil {
		return err
	}
	during, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	sent := make(chan error, 1)
	go e.call(during, n, sent)
	select {
	case err := <-sent:
		return err
	case <-ctx.Done():
	}
	timer, stop := e.config.Clock.Timer(abandonAfter)
	defer stop()
	select {
	case err := <-sent:
		return err
	case <-timer:
		e.logger.Error("a sender has not returned although its context has ended", "notice", n.ID)
		return ctx.Err()
	}
}

// summary returns the Summary of the call that a notice is about, or an empty text.
func (e *endpoint) summary(ctx context.Context, n Notice) (string, error) {
	switch n.Event.Type {
	case lifecycle.TypeInputRequired:
		if asked, ok := n.Question(); !ok || asked.Subject == nil || asked.Summary != "" {
			return asked.Summary, nil
		}
	case lifecycle.TypeReminder, lifecycle.TypeEscalated:
	default:
		return "", nil
	}
	q, err := OpenQuestion(ctx, e.config.Client, n)
	if err != nil || q == nil || q.Subject == nil {
		return "", err
	}
	return q.Subject.Summary, nil
}

// call calls the sender in this goroutine, which the sender may exit.
func (e *endpoint) call(ctx context.Context, n Notice, sent chan<- error) {
	err := errors.New("notify: sender exited its goroutine")
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("notify: sender panicked: %v", p)
		}
		sent <- err
	}()
	err = e.Sender.Send(ctx, n)
}

// pause returns the pause after an attempt: from half of the exponential backoff (share 0) to all
// of it (share 1).
func (r Retry) pause(attempt int, share float64) time.Duration {
	pause := r.First
	for i := 1; i < attempt && pause < r.Max; i++ {
		pause *= 2
	}
	pause = min(pause, r.Max)
	return pause/2 + time.Duration(share*float64(pause-pause/2))
}

// wait waits for a signal, the pause, or the end of ctx, and returns ctx.Err().
func (e *endpoint) wait(ctx context.Context, pause time.Duration, wake <-chan struct{}) error {
	timer, stop := e.config.Clock.Timer(pause)
	defer stop()
	select {
	case <-ctx.Done():
	case <-timer:
	case <-wake:
	}
	return ctx.Err()
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
