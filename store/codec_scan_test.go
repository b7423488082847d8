package store_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/store"
)

// requireScanned checks that the scanner reads like encoding/json, and reports whether it accepts.
func requireScanned(t require.TestingT, body []byte) bool {
	got, ok := store.ScanRun(body)
	if !ok {
		return false
	}
	var want store.Run
	require.NoError(t, json.Unmarshal(body, &want), "read by hand: %s", body)
	require.Equal(t, want, got, "read by hand: %s", body)
	return true
}

// requireDecoded checks that Decode gives the same result as encoding/json, including errors.
func requireDecoded(t require.TestingT, body []byte) {
	var want store.Run
	err := json.Unmarshal(store.FirstForm(body), &want)
	if err == nil {
		err = want.Validate()
	}
	got, gotErr := store.Decode(body)
	if err != nil {
		require.ErrorIs(t, gotErr, store.ErrCorrupt, "%s", body)
		require.EqualError(t, gotErr, fmt.Sprintf("%v: record: %v", store.ErrCorrupt, err), "%s", body)
		require.Equal(t, store.Run{}, got)
		return
	}
	require.NoError(t, gotErr, "%s", body)
	require.Equal(t, want, got)
}

// The scanner reads what Encode writes. Each field is tested by itself, so that none can be
// forgotten.
func TestDecodeReadsEveryField(t *testing.T) {
	require.True(t, requireScanned(t, []byte(marshaled(t, store.Run{}))))
	eachField(t, func(t *testing.T, path string, r store.Run) {
		body := []byte(marshaled(t, r))
		require.True(t, requireScanned(t, body), path)
		got, _ := store.ScanRun(body)
		require.Equal(t, r, got, path)
	})
}

func TestScannerReadsEncodedRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyRun(t)
		body, err := store.Encode(r)
		require.NoError(t, err)
		require.True(t, requireScanned(t, store.FirstForm(body)), "%s", body)
		requireDecoded(t, body)
	})
}

// I10: a stored record that is damaged, or that another program wrote, is read as encoding/json
// reads it, or refused.
func TestScannerMatchesJSONOnChangedBytes(t *testing.T) {
	pieces := rapid.SampledFrom([]string{
		`"`, `{`, `}`, `[`, `]`, `,`, `:`, ` `, `\`, `\n`, `\u00e9`, `\ud83d\ude00`, `null`, `true`, `0`, `-`, `.`,
		`e1`, "\x00", "\xff", "é", `""`, `{}`, `[]`,
		`"id":"b",`, `,"seq":3`, `,"state":"queued"`, `"label":"x"`,
	})
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom([]store.Run{parked(), submitted(), waiting(), answered(), finished()}).Draw(t, "run")
		body := marshaled(t, r)
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			from := rapid.IntRange(0, len(body)).Draw(t, "from")
			to := min(len(body), from+rapid.IntRange(0, 20).Draw(t, "length"))
			body = body[:from] + pieces.Draw(t, "piece") + body[to:]
		}
		requireScanned(t, []byte(body))
		requireDecoded(t, []byte(body))
	})
}

// K2 J14: the open questions are stored as the first and its siblings, the answer as one, as always;
// siblings without a first question are no record.
func TestDecodeReadsTheListsOfQuestionsAndAnswers(t *testing.T) {
	r := waiting()
	second := r.Open[0]
	second.ID, second.Prompt = 2, "And then?"
	r.Open = append(r.Open, second)
	r.Interactions, r.Together = 2, &store.Together{First: 1, Asked: 2}
	body, err := store.Encode(r)
	require.NoError(t, err)
	require.True(t, requireScanned(t, store.FirstForm(body)))
	got, err := store.Decode(body)
	require.NoError(t, err)
	require.Equal(t, r, got)
	require.Contains(t, string(body), `,"siblings":[{"interaction_id":2,`)
	lost := strings.Replace(string(body), `"pending":`, `"pending_then":`, 1)
	_, err = store.Decode([]byte(lost))
	require.ErrorIs(t, err, store.ErrCorrupt)
	require.ErrorContains(t, err, "siblings without a pending question")
	again, err := json.Marshal(answered())
	require.NoError(t, err)
	require.Contains(t, string(again), `,"answer":{"interaction_id":1,`)
}

func TestDecodeReadsOtherJSONForms(t *testing.T) {
	whole := marshaled(t, parked())
	for _, change := range [][2]string{
		{`{"id":"run-1",`, `{ "id":"run-1",`},
		{`{"id":"run-1",`, `{`},
		{`{"id":"run-1","version":7`, `{"version":7,"id":"run-1"`},
		{`{"id":"run-1",`, `{"id":"run-2","id":"run-1",`},
		{`{"id":"run-1",`, `{"ID":"run-1",`},
		{`{"id":"run-1",`, `{"id":null,`},
		{`{"id":"run-1",`, `{"id":7,`},
		{`"version":7`, `"version":18446744073709551615`},
		{`"version":7`, `"version":18446744073709551616`},
		{`"version":7`, `"version":99999999999999999999999`},
		{`"version":7`, `"version":07`},
		{`"version":7`, `"version":-0`},
		{`"version":7`, `"version":7.0`},
		{`"version":7`, `"version":7e0`},
		{`"version":7`, `"version":`},
		{`"priority":-3`, `"priority":-`},
		{`"priority":-3`, `"priority":--3`},
		{`"priority":-3`, `"priority":-0`},
		{`"priority":-3`, fmt.Sprintf(`"priority":%d`, int64(math.MinInt64))},
		{`"priority":-3`, `"priority":9223372036854775808`},
		{`"strict":true`, `"strict":false`},
		{`"strict":true`, `"strict":tru`},
		{`"engine":"agent"`, `"engine":"<agent>\/\u00E9\u0000é"`},
		{`"engine":"agent"`, `"engine":"\ud83d\ude00"`},
		{`"engine":"agent"`, `"engine":"\ud83d"`},
		{`"engine":"agent"`, `"engine":"\u12"`},
		{`"engine":"agent"`, `"engine":"\x"`},
		{`"engine":"agent"`, "\"engine\":\"\\\xff\""},
		{`"engine":"agent"`, "\"engine\":\"a\xff\""},
		{`"engine":"agent"`, "\"engine\":\"a\n\""},
		{`"engine":"agent"`, `"engine":"agent`},
		{`"mode":"interactive"`, `"mode":"interactiv\u0065"`},
		{`{"team":"blue"}`, `{}`},
		{`{"team":"blue"}`, `{"team":"blue",}`},
		{`{"team":"blue"}`, `{"team":"red","team":"blue"}`},
		{`{"team":"blue"}`, `{"team":1}`},
		{`"created_at":"2026-03-01T12:00:00.123456Z"`, `"created_at":"2026-03-01T12:00:00.123456\u005a"`},
		{`"created_at":"2026-03-01T12:00:00.123456Z"`, `"created_at":"2026-03-01T2:00:00,1Z"`},
		{`"created_at":"2026-03-01T12:00:00.123456Z"`, `"created_at":"2026-02-30T12:00:00Z"`},
		{`"created_at":"2026-03-01T12:00:00.123456Z"`, `"created_at":null`},
		{`"session":{"engine":"agent","version":"2","data":"AAH/"}`, `"session":}`},
		{`"session":{"engine":"agent","version":"2","data":"AAH/"}`, `"session":null`},
		{`"session":{"engine":"agent","version":"2","data":"AAH/"}`, `"session":{}`},
		{`"data":"AAH/"`, `"data":null`},
		{`"data":"AAH/"`, `"data":""`},
		{`"data":"AAH/"`, `"data":"AA\nH/"`},
		{`"data":"AAH/"`, `"data":"AAH"`},
		{`"data":"AAH/"`, `"data":"A==="`},
		{`"data":"AAH/"`, `"data":[0,1,255]`},
		{`"options":[{`, `"options":[,{`},
		{`"options":[{"label":"A","value":"a"}]`, `"options":[]`},
		{`"options":[{"label":"A","value":"a"}]`, `"options":[{"label":"A"}]`},
		{`"options":[{"label":"A","value":"a"}]`, `"options":[{}]`},
		{`"required_fields":["f"]`, `"required_fields":[]`},
		{`"required_fields":["f"]`, `"required_fields":["f",]`},
		{`"required_fields":["f"]`, `"required_fields":["f" ,"g"]`},
		{`"required_fields":["f"]`, `"required_fields":["a","b","c","d","e","f"]`},
		{`"ui_hints":{`, `"ui_hints":{"a":1e999,`},
		{`"ui_hints":{`, `"ui_hints":{"a":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `,`},
		{`"output":{"a":1}`, `"output":null`},
		{`"output":{"a":1}`, `"output":{"a": 1}`},
		{`"output":{"a":1}`, `"output":{"a":"<"}`},
		{`"output":{"a":1}`, `"output":"\ud83d\ude00"`},
		{`"output":{"a":1}`, "\"output\":\"\xff\""},
		{`"output":{"a":1}`, `"output":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)},
		{`"final_text":"f"`, `"final_text":"` + strings.Repeat(`long\ntext`, 1000) + `"`},
		{`"cancel_reason":"c"}`, `"cancel_reason":"c"} `},
		{`"cancel_reason":"c"}`, `"cancel_reason":"c"}}`},
		{`"cancel_reason":"c"}`, `"cancel_reason":"c"`},
	} {
		changed := strings.Replace(whole, change[0], change[1], 1)
		require.NotEqual(t, whole, changed, change[0])
		requireScanned(t, []byte(changed))
		requireDecoded(t, []byte(changed))
	}
}

// A database driver may use the bytes again.
func TestDecodedRecordSharesNoBytes(t *testing.T) {
	for _, r := range []store.Run{parked(), submitted(), waiting(), answered(), finished()} {
		body, err := store.Encode(r)
		require.NoError(t, err)
		require.True(t, requireScanned(t, body))
		got, err := store.Decode(body)
		require.NoError(t, err)
		clear(body)
		require.Equal(t, r, got)
	}
}

// Records are decoded often, so decoding must allocate little.
func TestDecodeAllocatesLittle(t *testing.T) {
	for _, c := range roundTrip {
		body, err := store.Encode(c.run())
		require.NoError(t, err)
		require.LessOrEqual(t, testing.AllocsPerRun(1000, func() { _, err = store.Decode(body) }), 10.0, c.name)
		require.NoError(t, err)
	}
}
