package otel

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/interlude-go/interlude/lifecycle"
)

// The attributes of metrics and spans. A run's id, key and labels are in no metric.
const (
	keyEngine     = attribute.Key("interlude.engine")
	keyPool       = attribute.Key("interlude.pool")
	keyState      = attribute.Key("interlude.state")
	keyFrom       = attribute.Key("interlude.from")
	keyTo         = attribute.Key("interlude.to")
	keyTrigger    = attribute.Key("interlude.trigger")
	keyKind       = attribute.Key("interlude.kind")
	keyResolution = attribute.Key("interlude.resolution")
	keyBlock      = attribute.Key("interlude.block")
	keyError      = attribute.Key("error.type")
	keyToken      = attribute.Key("gen_ai.token.type")
)

// maxSeries limits the cached combinations of attributes of each kind. In a host with thousands of
// pools, more are computed each time.
const maxSeries = 2000

// instruments are the metrics that the observer records. Without a MeterProvider, all are nil.
type instruments struct {
	turn, queued, answer                        metric.Float64Histogram
	tokens, transitions, blocked, lost, dropped metric.Int64Counter

	turns      cached[turnSeries]
	queues     cached[place]
	answers    cached[answerSeries]
	used       cached[tokenSeries]
	changes    cached[transitionSeries]
	blockKinds cached[blockSeries]
}

func newInstruments(meter metric.Meter) (*instruments, error) {
	var faults []error
	histogram := func(name, text string, bounds ...float64) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text),
			metric.WithExplicitBucketBoundaries(bounds...))
		faults = append(faults, err)
		return h
	}
	counter := func(name, unit, text string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
		faults = append(faults, err)
		return c
	}
	i := &instruments{
		turn: histogram("interlude.turn.duration", "Working time of a turn.",
			.005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3600),
		queued: histogram("interlude.queue.duration", "Time in the queue before a turn.",
			.001, .005, .01, .05, .1, .5, 1, 5, 30, 60, 600, 3600),
		answer: histogram("interlude.answer.duration", "Time that a question was open.",
			1, 10, 60, 600, 3600, 6*3600, 86400, 3*86400, 7*86400, 21*86400),
		tokens:      counter("interlude.tokens", "{token}", "Tokens that turns have used."),
		transitions: counter("interlude.transitions", "{transition}", "Changes of state of runs, and submissions."),
		blocked:     counter("interlude.blocked", "{block}", "Runs that could not continue: retries and holds."),
		lost:        counter("interlude.leases.lost", "{lease}", "Leases that this process has lost."),
		dropped:     counter("interlude.notices.dropped", "{notice}", "Notifications that a slow observer has lost."),
	}
	return i, errors.Join(faults...)
}

type series interface {
	comparable
	attributes() []attribute.KeyValue
}

// cached has the attribute sets of a metric as the options of its instruments, since sorting and
// hashing a set costs more than recording a value. The zero value is empty.
type cached[K series] struct {
	mu   sync.Mutex
	sets map[K]*options // guarded by mu; at most maxSeries
}

type options struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

func (c *cached[K]) of(key K) *options {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.sets[key]
	if o == nil {
		set := metric.WithAttributeSet(attribute.NewSet(key.attributes()...))
		o = &options{[]metric.AddOption{set}, []metric.RecordOption{set}}
		if c.sets == nil {
			c.sets = make(map[K]*options)
		}
		if len(c.sets) < maxSeries {
			c.sets[key] = o
		}
	}
	return o
}

func (p place) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{keyEngine.String(p.engine), keyPool.String(p.pool)}
}

type turnSeries struct {
	place
	state lifecycle.State
}

func (s turnSeries) attributes() []attribute.KeyValue {
	return append(s.place.attributes(), keyState.String(string(s.state)))
}

type tokenSeries struct {
	place
	token string
}

func (s tokenSeries) attributes() []attribute.KeyValue {
	return append(s.place.attributes(), keyToken.String(s.token))
}

type answerSeries struct {
	kind       lifecycle.Kind
	resolution lifecycle.Resolution
	pool       string
}

func (s answerSeries) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{keyKind.String(string(s.kind)), keyResolution.String(string(s.resolution)),
		keyPool.String(s.pool)}
}

type transitionSeries struct {
	place
	from, to lifecycle.State
	trigger  lifecycle.Trigger
	code     lifecycle.Code
}

func (s transitionSeries) attributes() []attribute.KeyValue {
	all := append(s.place.attributes(), keyFrom.String(string(s.from)), keyTo.String(string(s.to)),
		keyTrigger.String(string(s.trigger)))
	if s.code != "" {
		all = append(all, keyError.String(string(s.code)))
	}
	return all
}

type blockSeries struct {
	place
	kind lifecycle.BlockKind
}

func (s blockSeries) attributes() []attribute.KeyValue {
	return append(s.place.attributes(), keyBlock.String(string(s.kind)))
}

func placeOf(r *lifecycle.ObservedRun) place { return place{r.Engine, r.Pool} }

func (i *instruments) countTransition(c *lifecycle.Transition) {
	key := transitionSeries{placeOf(&c.ObservedRun), c.From, c.To, c.Trigger, ""}
	if c.Error != nil {
		key.code = c.Error.Code
	}
	i.transitions.Add(context.Background(), 1, i.changes.of(key).add...)
}

func (i *instruments) countBlock(b *lifecycle.BlockedRun) {
	i.blocked.Add(context.Background(), 1,
		i.blockKinds.of(blockSeries{placeOf(&b.ObservedRun), b.Block.Kind}).add...)
}

func (i *instruments) measureAnswer(s *lifecycle.Settlement) {
	i.answer.Record(context.Background(), s.Waited.Seconds(),
		i.answers.of(answerSeries{s.Kind, s.Resolution, s.Pool}).record...)
}

func (i *instruments) measureTurn(e *lifecycle.EndedTurn) {
	ctx, at := context.Background(), placeOf(&e.ObservedRun)
	i.turn.Record(ctx, e.Usage.Worked.Seconds(), i.turns.of(turnSeries{at, e.State}).record...)
	i.queued.Record(ctx, e.Queued.Seconds(), i.queues.of(at).record...)
	if e.Usage.InputTokens > 0 {
		i.tokens.Add(ctx, e.Usage.InputTokens, i.used.of(tokenSeries{at, "input"}).add...)
	}
	if e.Usage.OutputTokens > 0 {
		i.tokens.Add(ctx, e.Usage.OutputTokens, i.used.of(tokenSeries{at, "output"}).add...)
	}
}
