package fcmp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// endsSlowly reads the whole payload to see whether the event is the run's last.
func endsSlowly(e Event) bool {
	if e.Type != TypeStateChanged {
		return false
	}
	var change StateChanged
	if e.Decode(&change) != nil {
		return false
	}
	for _, s := range declared().States {
		if s.Name == change.To {
			return s.Terminal
		}
	}
	return false
}

func changed(data string) Event { return Event{Type: TypeStateChanged, Data: json.RawMessage(data)} }

// F9: the last event of a run is known without reading the others in full.
func TestTerminalEventsAreKnown(t *testing.T) {
	t.Parallel()
	ends := 0
	for name, log := range logs(t, "good") {
		for line := range strings.Lines(string(log)) {
			e, err := Decode([]byte(line))
			require.NoError(t, err)
			require.Equal(t, endsSlowly(e), e.Terminal(), "%s: %s", name, line)
			if e.Terminal() {
				ends++
			}
		}
	}
	require.Positive(t, ends)
	require.False(t, Event{Type: TypeMessageFinal, Data: json.RawMessage(`{"to":"failed"}`)}.Terminal())
	for _, data := range []string{
		`{"to":"failed"}`, `{"to":"running"}`, `{"to":"exploded"}`, `{"to":""}`, `{"to":null}`, `{"to":1}`,
		`{"from":"failed"}`, `{}`, ``, `null`, `{"to":"failed"`, `{"to":"running"}x`,
		`{"to":"running","to":"failed"}`, `{"TO":"running","to":"failed"}`, `{"to":"running","tO":"failed"}`,
		`{"tO":"failed","to":"running"}`, `{"to":"\u0066ailed"}`, `{"t\u006f":"failed"}`,
		`{"from":"x","t\u006f":"failed","to":"running"}`,
		`{ "to" : "failed" }`, `{"from":1,"to":"failed"}`, `{"terminal":{"to":"failed"},"to":"running"}`,
		`{"terminal":[],"to":"failed"}`, `{"to":"failed","updated_at":"never"}`, `{"to":"running","zz":1}`,
	} {
		require.Equal(t, endsSlowly(changed(data)), changed(data).Terminal(), data)
	}
}

// F9: an event is terminal by the quick look exactly when it is after reading it in full, whatever
// its data.
func TestTerminalIsWhatReadingInFullSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body, err := encode(header(), TypeStateChanged, drawPayload(t, TypeStateChanged))
		require.NoError(t, err)
		e, err := Decode(body)
		require.NoError(t, err)
		data := []byte(e.Data)
		require.NotNil(t, member(data, "to"), "what Encode writes need not be read in full")
		for _, data := range []string{string(data), string(spoil(t, data))} {
			require.Equal(t, endsSlowly(changed(data)), changed(data).Terminal(), data)
		}
	})
}

// J13: an observer's view of an event agrees with a full read.
func TestChangeInIsWhatReadingInFullSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		typ := rapid.SampledFrom([]string{TypeStarted, TypeStateChanged, TypeMessageFinal}).Draw(t, "type")
		body, err := encode(header(), typ, drawPayload(t, typ))
		require.NoError(t, err)
		var want StateChanged
		if typ == TypeStateChanged {
			e, err := Decode(body)
			require.NoError(t, err)
			require.NoError(t, e.Decode(&want))
		}
		from, trigger, ok := ChangeIn(body)
		require.Equal(t, typ != TypeMessageFinal, ok)
		require.Equal(t, want.From, from)
		require.Equal(t, want.Trigger, trigger)
		_, _, ok = ChangeIn(body[1:])
		require.False(t, ok, "Encode has not written this")
	})
}

// F9: a follower allocates nothing to see that a run continues.
func TestChangesAreSeenThroughWithoutAllocating(t *testing.T) {
	e := changed(`{"from":"queued","pending_interaction_id":1,"to":"running","trigger":"turn.started","updated_at":"2026-01-02T02:04:05.678901Z"}`)
	require.Zero(t, testing.AllocsPerRun(1000, func() { e.Terminal() }))
}

// L5: an observer's transitions allocate nothing for their names, and other events are not read to
// the end.
func TestChangeInAllocatesNothing(t *testing.T) {
	body, err := encode(header(), TypeStateChanged, map[string]any{
		"from": "queued", "to": "running", "trigger": "turn.started", "updated_at": "2026-01-02T02:04:05.678901Z",
	})
	require.NoError(t, err)
	_, _, ok := ChangeIn(body)
	require.True(t, ok)
	require.Zero(t, testing.AllocsPerRun(1000, func() { ChangeIn(body) }))
}

// FuzzTerminal: the quick look and reading in full agree on any data.
func FuzzTerminal(f *testing.F) {
	for _, data := range []string{`{"from":"running","terminal":{"status":"failed","warnings":[]},"to":"failed","trigger":"turn.failed","updated_at":"2026-01-02T02:04:05Z"}`, `{"from":"queued","to":"running"}`, `{"tO":"failed","to":"running"}`} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		require.Equal(t, endsSlowly(changed(data)), changed(data).Terminal())
	})
}
