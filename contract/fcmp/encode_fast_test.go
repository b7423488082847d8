package fcmp

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/internal/sample"
)

func drawHeader(t *rapid.T) Header {
	return Header{
		RunID: rapid.StringMatching(patternRunID).Draw(t, "run"), Seq: rapid.Uint64Min(1).Draw(t, "seq"),
		TS: drawTime(t).Add(time.Second),
		Engine: rapid.SampledFrom([]string{"demo", "<\"é\u2028\xff>", strings.Repeat("e", maxEngine)}).Draw(t,
			"engine"),
		Attempt: rapid.IntMin(0).Draw(t, "attempt"), LocalSeq: rapid.Uint64Min(1).Draw(t, "local"),
	}
}

// F7: every valid payload is written, byte for byte as the slow encoder does.
func TestValidPayloadsAreEncoded(t *testing.T) {
	t.Parallel()
	for _, typ := range eventTypes() {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			require.True(t, requireSame(t, header(), typ, samples()[typ]))
			rapid.Check(t, func(t *rapid.T) {
				require.True(t, requireSame(t, drawHeader(t), typ, drawPayload(t, typ)))
			})
		})
	}
}

// F7: whatever is wrong with a payload or its header, it is refused exactly when the validator of
// schemas refuses it, and for the same reason.
func TestEncodingAcceptsWhatTheSchemasDo(t *testing.T) {
	sample.Sequential(t)
	t.Parallel()
	for _, typ := range eventTypes() {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			for name := range samples()[typ] {
				for _, v := range junk() {
					data := samples()[typ]
					data[name] = v
					requireSame(t, header(), typ, data)
				}
			}
			rapid.Check(t, func(t *rapid.T) {
				data := drawPayload(t, typ)
				for range rapid.IntRange(1, 3).Draw(t, "changes") {
					mutate(t, data)
				}
				requireSame(t, header(), typ, data)
			})
		})
	}
	data := samples()[TypeInputRequired]
	data["prompt"], data["ui_hints"] = "", map[string]any{"a": math.Inf(1)}
	require.False(t, requireSame(t, header(), TypeInputRequired, data), "two members are wrong")
	var deep any
	for range maxPlainDepth {
		deep = []any{deep}
	}
	data = samples()[TypeInputRequired]
	delete(data, "default_decision_policy")
	data["ui_hints"] = map[string]any{"a": deep}
	require.False(t, requireSame(t, header(), TypeInputRequired, data), "a member is missing, another one too deep")
	for name, change := range map[string]func(*Header){
		"run":      func(h *Header) { h.RunID = "a/b" },
		"seq":      func(h *Header) { h.Seq = 0 },
		"no time":  func(h *Header) { h.TS = time.Time{} },
		"year":     func(h *Header) { h.TS = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) },
		"engine":   func(h *Header) { h.Engine = strings.Repeat("e", maxEngine+1) },
		"attempt":  func(h *Header) { h.Attempt = -1 },
		"localseq": func(h *Header) { h.LocalSeq = 0 },
	} {
		h := header()
		change(&h)
		_, err := encode(h, TypeWarning, samples()[TypeWarning])
		require.Error(t, err, name)
	}
}

// F7: a list that is nil is written as an empty one; a refusal for another reason does not name it.
func TestEncodeDoesNotBlameNilList(t *testing.T) {
	change := StateChanged{From: "running", To: "gone", Trigger: "turn.succeeded", UpdatedAt: header().TS,
		Terminal: &Terminal{Status: "succeeded"}}
	_, err := Encode(header(), &change)
	require.ErrorContains(t, err, "/to: value must be one of")
	require.NotContains(t, err.Error(), "warnings")
	change.To = "succeeded"
	body, err := Encode(header(), &change)
	require.NoError(t, err)
	require.Contains(t, string(body), `"warnings":[]`)
}

// Events that good runs leave are encoded to the bytes in which they were recorded.
func TestRecordedEventsAreEncodedAgain(t *testing.T) {
	sample.Sequential(t)
	t.Parallel()
	for name, log := range logs(t, "good") {
		for line := range strings.Lines(string(log)) {
			e, err := Verify([]byte(line))
			require.NoError(t, err, name)
			data, err := decodeObject(e.Data)
			require.NoError(t, err)
			h := e.header()
			require.True(t, requireSame(t, h, e.Type, data), line)
			again, err := encode(h, e.Type, data)
			require.NoError(t, err)
			require.Equal(t, strings.TrimSuffix(line, "\n"), string(again))
		}
	}
}

// F7: an event beyond MaxEvent is refused.
func TestEncodingKnowsTheLargestEvent(t *testing.T) {
	sample.Sequential(t)
	t.Parallel()
	asked := samples()[TypeInputRequired]
	sized := func(padding int) map[string]any {
		asked["ui_hints"] = map[string]any{"x": strings.Repeat("x", padding)}
		return asked
	}
	rest, err := encode(header(), TypeInputRequired, sized(0))
	require.NoError(t, err)
	require.True(t, requireSame(t, header(), TypeInputRequired, sized(MaxEvent-1-len(rest))))
	require.False(t, requireSame(t, header(), TypeInputRequired, sized(MaxEvent-len(rest))))
	_, err = encode(header(), TypeInputRequired, asked)
	require.ErrorContains(t, err, "bytes encoded")
}

// Encode allocates its result and nothing else; a buffer now and then, when the pool has none.
func TestEncodingAllocatesOnce(t *testing.T) {
	for typ, data := range samples() {
		h := header()
		p, err := payloadOf(typ, data)
		require.NoError(t, err)
		allocs := testing.AllocsPerRun(1000, func() { _, _ = Encode(h, p) })
		require.Less(t, allocs, 3.0, typ)
	}
}

// FuzzEncode: data from anywhere is encoded to the same bytes, or judged by the validator of
// schemas.
func FuzzEncode(f *testing.F) {
	types := eventTypes()
	for i, typ := range types {
		body, err := encode(header(), typ, samples()[typ])
		require.NoError(f, err)
		e, err := Decode(body)
		require.NoError(f, err)
		f.Add(i, "demo", []byte(e.Data))
	}
	f.Fuzz(func(t *testing.T, i int, engine string, raw []byte) {
		data, err := decodeObject(raw)
		if err != nil || i < 0 {
			return
		}
		h := header()
		h.Engine = engine
		requireSame(t, h, types[i%len(types)], data)
	})
}
