package lifecycle

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

// small says little more than it must.
func small() Spec {
	return Spec{ID: "01JQ8Z6W9Y3T5K7M2N4P6R8S0V", Prompt: strings.Repeat("Drop the column \"legacy_id\".\nCheck all "+
		"rows first. ", 8), Pool: "agents", Key: "tenant-17"}
}

// whole has a value in every field.
func whole() Spec {
	return Spec{
		ID: "job-1", Prompt: strings.Repeat("Drop the column \"legacy_id\".\nCheck all rows first. ", 40),
		Mode: Interactive, Engine: "agent",
		OutputSchema: json.RawMessage(
			`{"type":"object","properties":{"column":{"type":"string"},"rows":{"type":"integer","minimum":0}},"required":["column"]}`),
		Input: json.RawMessage(`{"order":7}`), MaxAttempts: 10, MaxQuestions: 3, SessionTimeout: time.Hour, AutoDecide: true, MaxAutoDecisions: 3,
		Repeatable:  true,
		OnInterrupt: Repeat, Hold: HoldOn, Budget: Budget{Turns: 7, Tokens: 1 << 40},
		MaxRepeats: 5, TurnTimeout: time.Minute, RepairRounds: 2, Retry: &Retry{Max: 3, Backoff: time.Minute,
			MaxBackoff: time.Hour,
			Jitter:     time.Second},
		Pool: "agents", Key: "tenant-17", Priority: -3, NotBefore: noon, Submitter: "ada",
		Ask:   &AskPolicy{NotSubmitter: true, To: &Audience{Users: []string{"bob"}, Groups: []string{"finance"}}},
		Title: "Lamps for order 7", Labels: map[string]string{"team": "blue",
			"env": "test"}, WorkDir: "/srv/work", Meta: map[string]string{"traceparent": "00-1-2-01"},
	}
}

var sizes = []struct {
	name string
	spec func() Spec
}{{"small", small}, {"whole", whole}}

func BenchmarkValidate(b *testing.B) {
	for _, c := range sizes {
		b.Run(c.name, func(b *testing.B) {
			s := c.spec()
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Validate(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRecord(b *testing.B) {
	for _, c := range sizes {
		b.Run(c.name, func(b *testing.B) {
			s := c.spec()
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := s.record(noon); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReadSpec(b *testing.B) {
	for _, c := range sizes {
		b.Run(c.name, func(b *testing.B) {
			_, body, err := c.spec().record(noon)
			require.NoError(b, err)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decodeSpec("job-1", body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
