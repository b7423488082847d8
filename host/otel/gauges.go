package otel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// Gauges reports how much all nodes together have to do, as Client.Stats says it, each time metrics
// are collected; and what this process has stored, if the store is a store.Meter (nil: not). Each
// collection costs a call of Stats and, while runs wait for answers, one of CountInbox, which reads
// at most 1000 of them; so collect every ten seconds or more seldom, and on one node only if there
// are many. A call that fails reports nothing. The returned function ends it. Without
// Config.Metrics it does nothing.
func (t *Telemetry) Gauges(client *lifecycle.Client, stored store.Meter) (stop func() error, err error) {
	if t.meter == nil {
		return func() error { return nil }, nil
	}
	var faults []error
	gauge := func(name, unit, text string) metric.Float64ObservableGauge {
		g, err := t.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(text))
		faults = append(faults, err)
		return g
	}
	total := func(name, unit, text string) metric.Int64ObservableCounter {
		c, err := t.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
		faults = append(faults, err)
		return c
	}
	runs := gauge("interlude.runs", "{run}", "Runs that have not ended, by state.")
	held := gauge("interlude.runs.held", "{run}", "Runs that somebody should look at.")
	open := gauge("interlude.questions.open", "{question}", "Open questions; of more than 1000 the runs that wait.")
	due := gauge("interlude.questions.due", "{question}", "Open questions whose deadline has passed.")
	asked := gauge("interlude.questions.oldest", "s", "Age of the oldest open question; 0 without one.")
	ready := gauge("interlude.queue.ready", "{run}", "Runs that wait for a slot, by pool.")
	oldest := gauge("interlude.queue.oldest", "s", "Age of the oldest run that waits for a slot, by pool.")
	slots := gauge("interlude.slots.held", "{slot}", "Slots in use, by pool.")
	capacity := gauge("interlude.slots.capacity", "{slot}", "Slots that there are, by pool.")
	nodes := gauge("interlude.nodes", "{node}", "Registered nodes.")
	commits := total("interlude.store.commits", "{commit}", "Commits that this process has stored.")
	flushes := total("interlude.store.flushes", "{flush}", "Durable transactions that they shared.")
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	observe := func(ctx context.Context, o metric.Observer) error {
		if stored != nil {
			c := stored.Counters()
			o.ObserveInt64(commits, int64(c.Commits))
			o.ObserveInt64(flushes, int64(c.Flushes))
		}
		s, err := client.Stats(ctx)
		if err != nil {
			return err
		}
		now := client.Now() // the stored times are of this clock
		for state, n := range map[string]int{"queued": s.Queued, "running": s.Running, "waiting_user": s.Waiting} {
			o.ObserveFloat64(runs, float64(n), metric.WithAttributes(keyState.String(state)))
		}
		o.ObserveFloat64(held, float64(s.Held))
		o.ObserveFloat64(due, float64(s.Due))
		o.ObserveFloat64(asked, age(now, s.OldestWaiting))
		o.ObserveFloat64(nodes, float64(s.Nodes))
		for _, p := range s.Pools {
			pool := metric.WithAttributes(keyPool.String(p.Name))
			o.ObserveFloat64(ready, float64(p.Ready), pool)
			o.ObserveFloat64(oldest, age(now, p.OldestReady), pool)
			o.ObserveFloat64(slots, float64(p.Held), pool)
			o.ObserveFloat64(capacity, float64(p.Capacity), pool)
		}
		questions, err := openQuestions(ctx, client, s.Waiting)
		if err == nil {
			o.ObserveFloat64(open, float64(questions))
		}
		return err
	}
	registered, err := t.meter.RegisterCallback(observe, runs, held, open, due, asked, ready, oldest, slots, capacity,
		nodes, commits, flushes)
	if err != nil {
		return nil, err
	}
	return registered.Unregister, nil
}

// openQuestions counts the open questions of the waiting runs, which may have several each. Of more
// than CountInbox counts, it returns a lower bound.
func openQuestions(ctx context.Context, client *lifecycle.Client, waiting int) (int, error) {
	if waiting == 0 {
		return 0, nil
	}
	counted, err := client.CountInbox(ctx, lifecycle.InboxQuery{})
	if counted.More {
		return max(waiting, counted.Questions), err
	}
	return counted.Questions, err
}

// age is how long ago that was, in seconds; 0 for never, and for what another clock says is to
// come.
func age(now, since time.Time) float64 {
	if since.IsZero() {
		return 0
	}
	return max(0, now.Sub(since).Seconds())
}
