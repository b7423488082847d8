package lifecycle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// requireScanned checks that the scanner reads like encoding/json, and reports whether it accepts.
func requireScanned(t require.TestingT, body []byte) bool {
	got, ok := scanSpec(body)
	if !ok {
		return false
	}
	var want Spec
	require.NoError(t, json.Unmarshal(body, &want), "read by hand: %s", body)
	require.Equal(t, want, got, "read by hand: %s", body)
	return true
}

// requireRead checks that decodeSpec gives the same result as encoding/json, including errors.
func requireRead(t require.TestingT, body []byte) {
	var want Spec
	err := json.Unmarshal(body, &want)
	got, gotErr := decodeSpec("job-1", body)
	if err != nil {
		require.EqualError(t, gotErr, fmt.Sprintf("lifecycle: stored spec of run job-1: %v", err), "%s", body)
		require.Equal(t, Spec{}, got)
		return
	}
	require.NoError(t, gotErr, "%s", body)
	want.ID = "job-1"
	require.Equal(t, want, got)
}

// eachField gives every field of the zero Spec in turn a value that is not its zero value.
func eachField(t *testing.T, then func(name string, s Spec)) {
	t.Helper()
	from := reflect.ValueOf(whole())
	for i := range from.NumField() {
		var s Spec
		require.False(t, from.Field(i).IsZero(), "whole has a value in every field")
		reflect.ValueOf(&s).Elem().Field(i).Set(from.Field(i))
		then(from.Type().Field(i).Name, s)
	}
}

func marshaled(t require.TestingT, v any) []byte {
	body, err := json.Marshal(v)
	require.NoError(t, err)
	return body
}

// The stored form is what encoding/json writes. Each field is looked at by itself, so that none can
// be forgotten.
func TestSpecCodecHandlesEveryField(t *testing.T) {
	empty := marshaled(t, Spec{})
	eachField(t, func(name string, s Spec) {
		body, err := encodeSpec(&s)
		require.NoError(t, err, name)
		require.Equal(t, string(marshaled(t, s)), string(body), name)
		require.True(t, requireScanned(t, body), name)
		got, ok := scanSpec(body)
		require.True(t, ok, name)
		if name == "ID" { // is the run's
			require.Equal(t, empty, body)
			return
		}
		require.NotEqual(t, empty, body, name)
		require.Equal(t, s, got, name)
	})
}

var (
	texts = rapid.OneOf(
		rapid.String(),
		rapid.StringMatching(`[a-z0-9 "\\\n<>&é]{0,200}`),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 12), func(b []byte) string { return string(b) }),
		rapid.SampledFrom([]string{"", DefaultEngine, string(Auto), "\u2028\u2029", "\ufffd", "\xe2\x80", "\x7f",
			"\u0000\b\f\n\r\t\x1f", "😀", `\u0041`, strings.Repeat("long\n", 20_000)}),
	)
	times = rapid.OneOf(
		rapid.Just(time.Time{}),
		rapid.Map(rapid.Int64Range(-62135596800000000, 253402300799999999), time.UnixMicro),
	)
	spans     = rapid.Map(rapid.Int64Min(-math.MaxInt64), func(ns int64) time.Duration { return time.Duration(ns) })
	anySchema = rapid.SampledFrom([]string{"", `{}`, `true`, `{"type":"object"}`,
		"{\n  \"title\": \"<a>\", \"enum\": [1e3, -0.5, null, \"\u2028\\/\\ud83d\"]\n}", `{"a":` + strings.Repeat("[",
			60) + strings.Repeat("]", 60) + `}`})
)

func anySpec(t *rapid.T) Spec {
	return Spec{
		ID: texts.Draw(t, "ID"), Prompt: texts.Draw(t, "Prompt"), Mode: Mode(texts.Draw(t, "Mode")),
		Engine:       texts.Draw(t, "Engine"),
		Input:        json.RawMessage(anySchema.Draw(t, "Input")),
		OutputSchema: json.RawMessage(anySchema.Draw(t, "OutputSchema")),
		MaxQuestions: rapid.IntMin(-math.MaxInt).Draw(t, "MaxQuestions"),
		MaxAttempts:  rapid.IntMin(-math.MaxInt).Draw(t, "MaxAttempts"), SessionTimeout: spans.Draw(t,
			"SessionTimeout"),
		AutoDecide: rapid.Bool().Draw(t, "AutoDecide"), MaxAutoDecisions: rapid.IntMin(-math.MaxInt).Draw(t,
			"MaxAutoDecisions"),
		Repeatable:  rapid.Bool().Draw(t, "Repeatable"),
		OnInterrupt: OnInterrupt(texts.Draw(t, "OnInterrupt")), Hold: HoldPolicy(texts.Draw(t, "Hold")),
		TurnTimeout:  spans.Draw(t, "TurnTimeout"),
		RepairRounds: rapid.IntMin(-math.MaxInt).Draw(t, "RepairRounds"),
		Pool:         texts.Draw(t, "Pool"), Key: texts.Draw(t, "Key"), Priority: rapid.IntRange(-1000, 1000).Draw(t,
			"Priority"),
		Retry: rapid.Ptr(rapid.Custom(func(t *rapid.T) Retry {
			return Retry{Max: rapid.IntMin(-math.MaxInt).Draw(t, "Max"), Backoff: spans.Draw(t, "Backoff"),
				MaxBackoff: spans.Draw(t, "MaxBackoff"), Jitter: spans.Draw(t, "Jitter")}
		}), true).Draw(t, "Retry"),
		Budget: Budget{Turns: rapid.IntMin(-math.MaxInt).Draw(t, "Turns"),
			Tokens: rapid.Int64Min(-math.MaxInt64).Draw(t, "Tokens")},
		NotBefore: times.Draw(t, "NotBefore"), Labels: rapid.MapOfN(texts, texts, 0, 12).Draw(t, "Labels"),
		Meta:    rapid.MapOfN(texts, texts, 0, 12).Draw(t, "Meta"),
		WorkDir: texts.Draw(t, "WorkDir"), Title: texts.Draw(t, "Title"),
	}
}

func TestEncodeSpecEqualsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anySpec(t)
		run, body, err := s.record(noon)
		require.NoError(t, err)
		require.Equal(t, string(marshaled(t, s.withDefaults())), string(body))
		s.Meta = nil // it does not count
		digest := sha256.Sum256(marshaled(t, s.withDefaults()))
		require.Equal(t, hex.EncodeToString(digest[:]), run.SpecDigest)
		require.True(t, requireScanned(t, body), "%s", body)
		requireRead(t, body)
	})
}

// The digest of a spec is compared with a digest stored by an earlier version.
func TestEncodeSpecIsStable(t *testing.T) {
	s := whole()
	// These fields were added later. A spec that does not set them is encoded as it was before.
	s.RepairRounds, s.MaxRepeats, s.Retry, s.Hold, s.Budget, s.Meta = 0, 0, nil, "", Budget{}, nil
	s.Ask, s.Submitter, s.MaxQuestions, s.Input, s.Title = nil, "", 0, nil, ""
	s.Prompt = "Drop \"it\".\n<now> & here"
	run, body, err := s.record(noon)
	require.NoError(t, err)
	require.Equal(t, `{"prompt":"Drop \"it\".\n\u003cnow\u003e \u0026 here","mode":"interactive","engine":"agent","output_schema":`+string(s.OutputSchema)+
		`,"max_attempts":10,"session_timeout":3600000000000,"auto_decide":true,"max_auto_decisions":3,"repeatable":true,"turn_timeout":60000000000,`+
		`"pool":"agents","key":"tenant-17","priority":-3,"not_before":"2026-03-01T12:00:00.123456Z","labels":{"env":"test","team":"blue"},"work_dir":"/srv/work"}`, string(body))
	require.Equal(t, "07fdfede5b6f492c9d184ef32ab03f27a771bf19446202d0ff2b245c107e8b61", run.SpecDigest)
}

func TestSpecRecordSharesNothing(t *testing.T) {
	s := whole()
	run, body, err := s.record(noon)
	require.NoError(t, err)
	got, err := decodeSpec(s.ID, body)
	require.NoError(t, err)
	before := bytes.Clone(body)

	clear(s.OutputSchema)
	s.Labels["team"] = "red"
	require.Equal(t, before, body)
	require.Equal(t, "blue", run.Labels["team"])
	clear(body) // a store may use the bytes again
	want := whole()
	want.OnInterrupt = "" // Repeatable says it
	require.Equal(t, want, got)
}

func TestSpecRecordRefusesInvalidJSON(t *testing.T) {
	s := whole()
	s.OutputSchema = json.RawMessage(`{"a":`)
	_, body, err := s.record(noon)
	var wrong *SpecError
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, "OutputSchema", wrong.Field)
	require.Nil(t, body)
}

func TestDecodeSpecReadsAnyJSON(t *testing.T) {
	_, body, err := whole().record(noon)
	require.NoError(t, err)
	stored := string(body)
	for _, change := range [][2]string{
		{`{"prompt":`, `{ "prompt":`},
		{`{"prompt":`, `{"of_tomorrow":[1],"prompt":`},
		{`{"prompt":`, `{"Prompt":`},
		{`{"prompt":`, `[`},
		{`,"mode":"interactive"`, ``},
		{`"mode":"interactive"`, `"mode":"interactiv\u0065"`},
		{`"mode":"interactive"`, `"mode":null`},
		{`"mode":"interactive"`, `"mode":1`},
		{`,"engine":"agent"`, `,"engine":""`},
		{`"engine":"agent"`, "\"engine\":\"\xff\""},
		{`"engine":"agent"`, `"engine":"\ud83d"`},
		{`"output_schema":{`, `"output_schema":{ `},
		{`"output_schema":{`, `"output_schema":null,"x":{`},
		{`"output_schema":{`, `"output_schema":{"deep":` + strings.Repeat("[", 80) + strings.Repeat("]", 80) + `,`},
		{`"output_schema":{`, `"output_schema":{"a",`},
		{`"max_attempts":10`, `"max_attempts":0`},
		{`"max_attempts":10`, `"max_attempts":-0`},
		{`"max_attempts":10`, `"max_attempts":010`},
		{`"max_attempts":10`, `"max_attempts":10.0`},
		{`"max_attempts":10`, `"max_attempts":1e1`},
		{`"max_attempts":10`, `"max_attempts":9223372036854775808`},
		{`"max_attempts":10`, `"max_attempts":-9223372036854775808`},
		{`"max_attempts":10`, `"max_attempts":10,"max_attempts":11`},
		{`"auto_decide":true`, `"auto_decide":false`},
		{`"auto_decide":true`, `"auto_decide":1`},
		{`"not_before":"2026-03-01T12:00:00.123456Z"`, `"not_before":"2026-03-01T12:00:00.123456+02:00"`},
		{`"not_before":"2026-03-01T12:00:00.123456Z"`, `"not_before":"2026-02-30T12:00:00Z"`},
		{`"not_before":"2026-03-01T12:00:00.123456Z"`, `"not_before":null`},
		{`{"env":"test","team":"blue"}`, `{"team":"blue","env":"test"}`},
		{`{"env":"test","team":"blue"}`, `{"env":"test","env":"blue"}`},
		{`{"env":"test","team":"blue"}`, `{}`},
		{`{"env":"test","team":"blue"}`, `null`},
		{`{"env":"test","team":"blue"}`, `{"env":1}`},
		{`"00-1-2-01"}}`, `"00-1-2-01"}} `},
		{`"00-1-2-01"}}`, `"00-1-2-01"}}}`},
		{`"00-1-2-01"}}`, `"00-1-2-01"}`},
	} {
		changed := strings.Replace(stored, change[0], change[1], 1)
		require.NotEqual(t, stored, changed, change[0])
		requireScanned(t, []byte(changed))
		requireRead(t, []byte(changed))
	}
	for _, body := range []string{"", "null", "{}", "[]", `""`} {
		requireScanned(t, []byte(body))
		requireRead(t, []byte(body))
	}
}

func TestSpecCodecAllocations(t *testing.T) {
	s, buf := whole(), make([]byte, 0, 8192)
	require.Zero(t, testing.AllocsPerRun(1000, func() { buf, _ = appendSpec(buf[:0], &s) }), "into a kept buffer")
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() { _ = digestOf(buf) }), 1.0, "its text")
	s = small()
	_, body, err := s.record(noon)
	require.NoError(t, err)
	require.LessOrEqual(t, testing.AllocsPerRun(1000, func() {
		_, err = decodeSpec(s.ID, body)
	}), 2.0, "the prompt, and the short texts together")
	require.NoError(t, err)
}

// FuzzReadSpec: for any stored bytes, the scanner reads like encoding/json, and a decoded spec
// keeps its stored form.
func FuzzReadSpec(f *testing.F) {
	for _, c := range sizes {
		_, body, err := c.spec().record(noon)
		require.NoError(f, err)
		f.Add(body)
	}
	f.Add([]byte(`{"prompt":"a\u00e9\n","mode":"auto","session_timeout":1,"max_auto_decisions":0,"pool":"default"}`))
	f.Add([]byte(`{"prompt":"","output_schema":[[[{"a":-1.5e9}]]],"labels":{"a":"b","a":"c"}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		requireScanned(t, body)
		requireRead(t, body)
		s, err := decodeSpec("job-1", body)
		if err != nil {
			return
		}
		first, err := encodeSpec(&s)
		want, wantErr := json.Marshal(s)
		if wantErr != nil { // a zone of a day or more
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, string(want), string(first))
		requireRead(t, first)
	})
}
