package otel

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// metricsOf collects all metrics by name.
func metricsOf(t *testing.T, reader sdkmetric.Reader) map[string]metricdata.Aggregation {
	t.Helper()
	var got metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &got))
	all := make(map[string]metricdata.Aggregation)
	for _, s := range got.ScopeMetrics {
		for _, m := range s.Metrics {
			all[m.Name] = m.Data
		}
	}
	return all
}

// late is the clock of a database server that is a day slow.
type late struct{ lifecycle.SystemClock }

func (late) Now() time.Time { return time.Now().Add(-24 * time.Hour) }

// L5: the age of the oldest question is measured by the client's clock, by which it was asked.
func TestL5AgesAreOfTheClientsClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := sdkmetric.NewManualReader()
		telemetry, err := New(Config{Metrics: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
		require.NoError(t, err)
		lc, stop := serveConfig(t, lifecycle.Config{Store: memory.New(), Clock: late{},
			Engine: engine.Func(func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
				return engine.Ask(engine.Question{Prompt: "Ship it?"}), nil
			})})
		defer stop()
		end, err := telemetry.Gauges(lc.Client, nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, end()) }()
		_, err = lc.Submit(t.Context(), lifecycle.Spec{ID: "open", Prompt: "Go."})
		require.NoError(t, err)
		time.Sleep(time.Hour)
		oldest := metricsOf(t, reader)["interlude.questions.oldest"].(metricdata.Gauge[float64])
		require.InDelta(t, 3600, oldest.DataPoints[0].Value, 2)
	})
}

// L5: metrics separate the time that people took, by kind and resolution, from the working time of
// turns.
func TestL5MetricsOfARun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := sdkmetric.NewManualReader()
		telemetry, err := New(Config{Metrics: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
		require.NoError(t, err)
		lc, st, stop := serve(t, telemetry.Observer())
		defer stop()
		end, err := telemetry.Gauges(lc.Client, st.(store.Meter))
		require.NoError(t, err)
		roundTrip(t, lc, "r", "yes", nil)
		_, err = lc.Submit(t.Context(), lifecycle.Spec{ID: "open", Prompt: "Go."})
		require.NoError(t, err)
		time.Sleep(time.Hour)
		got := metricsOf(t, reader)

		answer := got["interlude.answer.duration"].(metricdata.Histogram[float64]).DataPoints
		require.Len(t, answer, 1)
		require.InDelta(t, (3 * time.Hour).Seconds(), answer[0].Sum, 2)
		require.Equal(t, attribute.NewSet(keyKind.String("confirm"),
			keyResolution.String("user_reply"), keyPool.String("default")), answer[0].Attributes)
		var worked float64
		for _, p := range got["interlude.turn.duration"].(metricdata.Histogram[float64]).DataPoints {
			worked += p.Sum
		}
		require.InDelta(t, 3, worked, .01)
		gauge := func(name string) float64 {
			return got[name].(metricdata.Gauge[float64]).DataPoints[0].Value
		}
		require.InDelta(t, 3599, gauge("interlude.questions.oldest"), 2)
		require.InDelta(t, 1, gauge("interlude.questions.open"), 0)
		require.Zero(t, gauge("interlude.slots.held"))
		require.Positive(t, gauge("interlude.slots.capacity"))
		commits := got["interlude.store.commits"].(metricdata.Sum[int64]).DataPoints[0].Value
		require.EqualValues(t, st.(store.Meter).Counters().Commits, commits)
		require.NoError(t, end())
		require.NotContains(t, metricsOf(t, reader), "interlude.nodes")
	})
}

// L5: every open question is counted, including several of one run; above the exact limit the count
// is a lower bound. If the host does not permit the listing, the other gauges remain.
func TestL5OpenQuestionsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		confirm := engine.Question{Kind: engine.Confirm, Prompt: "Ship it?"}
		asks := engine.Func(func(context.Context, engine.Turn, engine.Sink) (engine.Outcome, error) {
			return engine.Outcome{Process: engine.Process{Status: engine.OK},
				Questions: []engine.Question{confirm, confirm}}, nil
		})
		var refused error
		reader := sdkmetric.NewManualReader()
		telemetry, err := New(Config{Metrics: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
		require.NoError(t, err)
		lc, stop := serveConfig(t, lifecycle.Config{Store: memory.New(), Engine: asks,
			Authorize: func(_ context.Context, a lifecycle.Access) error {
				if a.Inbox != nil {
					return refused
				}
				return nil
			}})
		defer stop()
		_, err = telemetry.Gauges(lc.Client, nil)
		require.NoError(t, err)
		open := func(runs int) int {
			for range runs {
				_, err := lc.Submit(t.Context(), lifecycle.Spec{Prompt: "Go.", MaxQuestions: 2})
				require.NoError(t, err)
			}
			synctest.Wait()
			counted := metricsOf(t, reader)["interlude.questions.open"].(metricdata.Gauge[float64])
			return int(counted.DataPoints[0].Value)
		}
		require.Zero(t, open(0))
		require.Equal(t, 6, open(3))
		require.Equal(t, 1000, open(498))

		refused = errors.New("not for metrics")
		var got metricdata.ResourceMetrics
		require.ErrorIs(t, reader.Collect(t.Context(), &got), refused)
		var names []string
		for _, m := range got.ScopeMetrics[0].Metrics {
			names = append(names, m.Name)
		}
		require.Contains(t, names, "interlude.questions.oldest")
		require.NotContains(t, names, "interlude.questions.open")
	})
}

// row matches a metric in the table of docs/telemetry.md: its names, and its attributes.
var row = regexp.MustCompile("(?m)^\\| (`interlude[^|]*) \\|[^|]*\\| ([^|]*)\\|")

// documented returns the metrics that docs/telemetry.md lists, with their attributes.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/telemetry.md")
	require.NoError(t, err)
	all := make(map[string][]string)
	words := func(cell string) []string {
		return strings.FieldsFunc(cell, func(r rune) bool { return strings.ContainsRune("`, ", r) })
	}
	for _, match := range row.FindAllStringSubmatch(string(page), -1) {
		attributes := []string{}
		for _, name := range words(match[2]) {
			if !strings.Contains(name, ".") {
				name = "interlude." + name
			}
			attributes = append(attributes, name)
		}
		slices.Sort(attributes)
		for _, name := range words(match[1]) {
			all[name] = attributes
		}
	}
	return all
}

// attributesOf returns the attribute names of a metric's points.
func attributesOf(t *testing.T, data metricdata.Aggregation) (names []string) {
	t.Helper()
	var sets []attribute.Set
	switch data := data.(type) {
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			sets = append(sets, p.Attributes)
		}
	case metricdata.Gauge[float64]:
		for _, p := range data.DataPoints {
			sets = append(sets, p.Attributes)
		}
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			sets = append(sets, p.Attributes)
		}
	default:
		t.Fatalf("%T", data)
	}
	names = []string{}
	for _, set := range sets {
		for _, kv := range set.ToSlice() {
			names = append(names, string(kv.Key))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// L5: docs/telemetry.md lists exactly the existing metrics and their attributes.
func TestL5EachMetricIsDocumented(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := sdkmetric.NewManualReader()
		telemetry, err := New(Config{Metrics: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
		require.NoError(t, err)
		o := telemetry.Observer()
		lc, st, stop := serve(t, o)
		defer stop()
		_, err = telemetry.Gauges(lc.Client, st.(store.Meter))
		require.NoError(t, err)
		roundTrip(t, lc, "bad", "fail", nil)
		o.Turn(lifecycle.EndedTurn{Usage: lifecycle.Usage{InputTokens: 1, OutputTokens: 1}})
		o.Blocked(lifecycle.BlockedRun{Block: lifecycle.Block{Kind: "retry"}})
		o.LeaseLost(lifecycle.LostLease{})
		o.Dropped(3)
		made := make(map[string][]string)
		for name, data := range metricsOf(t, reader) {
			made[name] = attributesOf(t, data)
		}
		require.Equal(t, documented(t), made)
	})
}

// L5: the metrics of a round trip allocate nothing once their attributes are cached.
func TestL5MetricsAllocateNothing(t *testing.T) {
	telemetry, err := New(Config{Metrics: sdkmetric.NewMeterProvider(
		sdkmetric.WithReader(sdkmetric.NewManualReader()))})
	require.NoError(t, err)
	o := telemetry.Observer()
	require.Zero(t, testing.AllocsPerRun(100, func() { notices(&o) }))
}
