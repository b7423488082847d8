package plainjson_test

import (
	"encoding/json"
	"math"
	"time"

	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/internal/plainjson"
)

type colour string

// sample has a member of every kind that can be written and read; of a kind with two forms, one
// member of each.
type sample struct {
	Text     string            `json:"text"`
	TextIf   string            `json:"text_if,omitempty"`
	Own      string            `json:"own"`
	Word     colour            `json:"word"`
	Int      int               `json:"int"`
	IntIf    int               `json:"int_if,omitempty"`
	SmallIf  int8              `json:"small_if,omitempty"`
	TinyIf   uint16            `json:"tiny_if,omitempty"`
	Uint     uint64            `json:"uint"`
	UintIf   uint64            `json:"uint_if,omitempty"`
	Span     time.Duration     `json:"span"`
	SpanIf   time.Duration     `json:"span_if,omitempty"`
	Flag     bool              `json:"flag"`
	FlagIf   bool              `json:"flag_if,omitempty"`
	Time     time.Time         `json:"time"`
	TimeIf   time.Time         `json:"time_if,omitzero"`
	Bytes    []byte            `json:"bytes"`
	LabelsIf map[string]string `json:"labels_if,omitempty"`
	RawIf    json.RawMessage   `json:"raw_if,omitempty"`
	ValuesIf map[string]any    `json:"values_if,omitempty"`
}

func appendSample(dst []byte, v *sample) ([]byte, error) {
	w := plainjson.Writer{Buf: dst}
	w.Text(`{"text":`, v.Text)
	w.TextIf(`,"text_if":`, v.TextIf)
	w.Text(`,"own":`, v.Own)
	w.Text(`,"word":`, string(v.Word))
	w.Int(`,"int":`, int64(v.Int))
	w.IntIf(`,"int_if":`, v.IntIf)
	w.IntIf(`,"small_if":`, int(v.SmallIf))
	w.IntIf(`,"tiny_if":`, int(v.TinyIf))
	w.Uint(`,"uint":`, v.Uint)
	w.UintIf(`,"uint_if":`, v.UintIf)
	w.Duration(`,"span":`, v.Span)
	w.DurationIf(`,"span_if":`, v.SpanIf)
	w.Flag(`,"flag":`, v.Flag)
	w.FlagIf(`,"flag_if":`, v.FlagIf)
	w.Time(`,"time":`, v.Time)
	w.TimeIf(`,"time_if":`, v.TimeIf)
	w.Bytes(`,"bytes":`, v.Bytes)
	w.LabelsIf(`,"labels_if":`, v.LabelsIf)
	w.RawIf(`,"raw_if":`, v.RawIf)
	w.ValuesIf(`,"values_if":`, v.ValuesIf)
	w.Put(`}`)
	return w.Buf, w.Err
}

func scanSample(body []byte, known plainjson.Words) (v sample, ok bool) {
	s := plainjson.Scanner{Body: body, Words: known}
	s.Need(`{"text":`)
	v.Text = s.AText()
	s.Text(`,"text_if":`, &v.TextIf)
	s.Own(`,"own":`, &v.Own)
	plainjson.Word(&s, `,"word":`, &v.Word)
	s.Int(`,"int":`, &v.Int)
	s.Int(`,"int_if":`, &v.IntIf)
	s.Int8(`,"small_if":`, &v.SmallIf)
	s.Uint16(`,"tiny_if":`, &v.TinyIf)
	s.Uint(`,"uint":`, &v.Uint)
	s.Uint(`,"uint_if":`, &v.UintIf)
	s.Duration(`,"span":`, &v.Span)
	s.Duration(`,"span_if":`, &v.SpanIf)
	s.Flag(`,"flag":`, &v.Flag)
	s.Flag(`,"flag_if":`, &v.FlagIf)
	s.Time(`,"time":`, &v.Time)
	s.Time(`,"time_if":`, &v.TimeIf)
	s.Bytes(`,"bytes":`, &v.Bytes)
	s.Labels(`,"labels_if":`, &v.LabelsIf)
	s.Raw(`,"raw_if":`, &v.RawIf)
	s.Values(`,"values_if":`, &v.ValuesIf)
	s.Need(`}`)
	return v, s.Done()
}

var (
	texts = rapid.OneOf(
		rapid.String(),
		rapid.StringMatching(`[a-z "\\\n<>&é]{0,90}`),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 12), func(b []byte) string { return string(b) }),
	)
	times = rapid.OneOf(
		rapid.Just(time.Time{}),
		rapid.Map(rapid.Int64(), func(ns int64) time.Time { return time.Unix(0, ns).UTC() }),
	)
	spans = rapid.Map(rapid.Int64Min(-1<<63+1), func(ns int64) time.Duration { return time.Duration(ns) })
	raws  = rapid.SampledFrom([]string{``, `{}`, `[1,-2.5e3,null]`, `{"a":{"b":"<"}}`, "{ \"a\" : \"\xff\u2028\" }",
		`"\ud83d"`, `false`})
)

func anySample(t *rapid.T) sample {
	v := sample{
		Text: texts.Draw(t, "text"), TextIf: texts.Draw(t, "text_if"), Own: texts.Draw(t, "own"),
		Word: colour(rapid.OneOf(texts, rapid.Just("blue")).Draw(t, "word")),
		Int:  rapid.IntMin(math.MinInt+1).Draw(t, "int"), IntIf: rapid.IntRange(-2, 2).Draw(t, "int_if"),
		SmallIf: rapid.Int8().Draw(t, "small_if"), TinyIf: rapid.Uint16().Draw(t, "tiny_if"),
		Uint: rapid.Uint64Max(1<<63).Draw(t, "uint"), UintIf: rapid.Uint64Max(2).Draw(t, "uint_if"),
		Span: spans.Draw(t, "span"), SpanIf: spans.Draw(t, "span_if"),
		Flag: rapid.Bool().Draw(t, "flag"), FlagIf: rapid.Bool().Draw(t, "flag_if"),
		Time: times.Draw(t, "time"), TimeIf: times.Draw(t, "time_if"),
		Bytes:    rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "bytes"),
		LabelsIf: rapid.MapOfN(texts, texts, 0, 12).Draw(t, "labels_if"),
		RawIf:    json.RawMessage(raws.Draw(t, "raw_if")),
	}
	if rapid.Bool().Draw(t, "values") {
		v.ValuesIf = map[string]any{texts.Draw(t, "name"): []any{texts.Draw(t, "value"), 1.5, nil, true}}
	}
	return v
}
