package otel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
)

// Gauges reports the load of all nodes (Client.Stats) each time metrics are collected, and the
// commits of this process if stored is not nil. Each collection costs a call of Stats and, while
// runs wait for answers, a call of CountInbox, which reads up to 1000 of them. So collect at most
// every ten seconds, and on one node only. A failed call reports nothing. The returned function
// stops it. Without Config.Metrics it does nothing.
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
	held := gauge("interlude.runs.held", "{run}", "Runs that wait for an operator's decision.")
	open := gauge("interlude.questions.open", "{question}", "Open questions; above 1000, a lower bound.")
	due := gauge("interlude.questions.due", "{question}", "Open questions whose deadline has passed.")
	asked := gauge("interlude.questions.oldest", "s", "Age of the oldest open question; 0 without one.")
	ready := gauge("interlude.queue.ready", "{run}", "Runs that wait for a slot, by pool.")
	oldest := gauge("interlude.queue.oldest", "s", "Age of the oldest run that waits for a slot, by pool.")
	slots := gauge("interlude.slots.held", "{slot}", "Slots in use, by pool.")
	capacity := gauge("interlude.slots.capacity", "{slot}", "Total slots, by pool.")
	nodes := gauge("interlude.nodes", "{node}", "Registered nodes.")
	commits := total("interlude.store.commits", "{commit}", "Commits that this process has stored.")
	flushes := total("interlude.store.flushes", "{flush}", "Durable transactions that these commits shared.")
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
		now := client.Now() // the clock of the stored times
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

// openQuestions counts the open questions of the waiting runs, which may have several each. Above
// CountInbox's limit it returns a lower bound.
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

// age returns the seconds since a time; 0 for the zero time, and for a future time of another
// clock.
func age(now, since time.Time) float64 {
	if since.IsZero() {
		return 0
	}
	return max(0, now.Sub(since).Seconds())
}
