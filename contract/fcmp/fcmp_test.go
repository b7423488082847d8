package fcmp

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract"
	"github.com/interlude-go/interlude/internal/sample"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 678_901_234, time.FixedZone("east", 3600))

// logs are recorded logs of the contract's test data, by name.
func logs(t testing.TB, folder string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("..", "testdata", folder, "*.jsonl"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	out := map[string][]byte{}
	for _, path := range paths {
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		out[strings.TrimSuffix(filepath.Base(path), ".jsonl")] = body
	}
	return out
}

func header() Header {
	return Header{RunID: "run-1", Seq: 7, TS: epoch, Engine: "demo", Attempt: 2, LocalSeq: 3}
}

type named string

// samples holds valid data for every event type.
func samples() map[string]map[string]any {
	at := "2026-01-02T02:04:05.678901Z"
	return map[string]map[string]any{
		TypeStarted: {"mode": "interactive", "interactive_require_user_reply": true, "session_timeout_sec": 1200,
			"max_attempt":        3,
			"max_auto_decisions": 0, "pool": "default", "contract_version": "1.0.0"},
		TypeStateChanged: {"from": "running", "to": "failed", "trigger": "turn.failed", "updated_at": at,
			"terminal": map[string]any{"status": "failed", "error": map[string]any{"code": "ENGINE_FAILED",
				"message": "exit 1"}, "warnings": []any{"ENGINE_DIAGNOSTIC"}}},
		TypeReplyAccepted: {"interaction_id": 1, "resolution_mode": "user_reply", "accepted_at": at, "actor": "ada"},
		TypeAutoDecided: {"interaction_id": 1, "resolution_mode": "auto_decide_timeout", "policy": "safe_default",
			"accepted_at": at, "timeout_sec": 1200},
		TypeInputRequired: {"interaction_id": 1, "kind": "choose_one", "prompt": "Which?",
			"options":         []any{map[string]any{"label": "A", "value": "a"}},
			"required_fields": []any{"name"}, "ui_hints": map[string]any{"wide": true}, "context": "c",
			"default_decision_policy": "engine_judgement",
			"asked_at":                at, "profile": "resumable", "on_deadline": "auto_decide",
			"wait_deadline_at": at},
		TypeMessageFinal: {"text": "done\nreally", "truncated": false,
			"raw_ref": map[string]any{"file": "1.jsonl", "offset": 0, "length": 12}},
		TypeMessageIntermediate: {"text": "<working & thinking>\u2028"},
		TypeWarning:             {"code": "ENGINE_DIAGNOSTIC", "detail": "slow"},
		TypeYielded: {"code": "ENGINE_FAILED", "message": "503", "retry": 1, "not_before": at,
			"choices": []any{"repeat", "end"}},
		TypeBlocked: {"code": "SESSION_RESUME_FAILED", "message": "the session is of another version",
			"choices": []any{"repeat", "end"}},
		TypeUnblocked: {"cause": "resumed", "actor": "ada"},
		TypeReminder:  {"interaction_id": 1, "step": 1, "due_at": at},
		TypeEscalated: {"interaction_id": 1, "step": 2, "due_at": at, "to": map[string]any{"groups": []any{"finance"}}},
		TypeDefaultTaken: {"interaction_id": 1, "resolution_mode": "default_answer", "accepted_at": at,
			"timeout_sec": 60,
			"decision":    "reject"},
		TypeChanged:   {"interaction_id": 1, "change": "extend", "wait_deadline_at": at, "actor": "ada", "via": "web"},
		TypeRecorded:  {"interaction_id": 1, "resolution_mode": "user_reply", "accepted_at": at, "actor": "ada"},
		TypeClosed:    {"interaction_id": 1, "resolution_mode": "superseded", "closed_at": at},
		TypeForgotten: {"interaction_id": 1, "actor": "ada", "via": "web"},
		TypeNoted: {"interaction_id": 1, "note": 2, "text": "Ask <Bob> first.", "actor": "ada", "for": "bob",
			"via": "web"},
	}
}

// F8: versions of the protocol are ordered by their numbers, not as texts.
func TestF8VersionsAreOrderedByNumber(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ earlier, later string }{
		{"fcmp/1.0", "fcmp/1.0"}, {"fcmp/1.0", "fcmp/1.1"}, {"fcmp/1.9", "fcmp/1.10"}, {"fcmp/1.10", "fcmp/1.11"},
		{"fcmp/1.19", "fcmp/1.20"}, {"fcmp/1.99", "fcmp/1.100"}, {"fcmp/1.10", "fcmp/2.0"}, {"fcmp/9.9", "fcmp/10.0"},
	} {
		require.Equal(t, c.later, laterProtocol(c.earlier, c.later))
		require.Equal(t, c.later, laterProtocol(c.later, c.earlier))
	}
	for i := range len(protocols) - 1 {
		require.Equal(t, protocols[i+1], laterProtocol(protocols[i+1], protocols[i]), "the lowest one comes first")
	}
}

// F1: the envelope has its fields in a fixed order, on one line.
func TestEncodeWritesTheEnvelopeInAFixedOrder(t *testing.T) {
	require.Equal(t, Protocol, contract.Load().Protocol)
	t.Parallel()
	body, err := encode(header(), TypeMessageIntermediate, samples()[TypeMessageIntermediate])
	require.NoError(t, err)
	require.Equal(t, `{"protocol_version":"fcmp/1.0","run_id":"run-1","seq":7,"ts":"2026-01-02T02:04:05.678901Z","engine":"demo",`+
		`"type":"assistant.message.intermediate","data":{"text":"<working & thinking>\u2028"},"meta":{"attempt":2,"local_seq":3}}`, string(body))
}

// F1, F7: encoded events can be decoded, verified, and encoded again to the same bytes.
func TestEveryTypeGoesRound(t *testing.T) {
	t.Parallel()
	require.Len(t, samples(), len(schemas().payloads), "a type has no sample here")
	for typ, data := range samples() {
		body, err := encode(header(), typ, data)
		require.NoError(t, err, typ)
		require.NotContains(t, string(body), "\n", typ)
		e, err := Verify(body)
		require.NoError(t, err, typ)
		require.Equal(t, Event{ProtocolVersion: ProtocolOf(typ, ""), RunID: "run-1", Seq: 7,
			TS: epoch.UTC().Truncate(time.Microsecond), Engine: "demo", Type: typ,
			Data: e.Data, Meta: Meta{Attempt: 2, LocalSeq: 3}}, e)
		var again map[string]any
		require.NoError(t, e.Decode(&again))
		second, err := encode(header(), typ, again)
		require.NoError(t, err, typ)
		require.Equal(t, string(body), string(second), typ)
	}
}

// F1: the payload types match the schemas: nothing is lost in conversion.
func TestPayloadTypesKeepEverything(t *testing.T) {
	t.Parallel()
	into := map[string]any{
		TypeStarted: &Started{}, TypeStateChanged: &StateChanged{}, TypeReplyAccepted: &ReplyAccepted{},
		TypeAutoDecided:   &AutoDecided{},
		TypeInputRequired: &InputRequired{}, TypeMessageFinal: &MessageFinal{},
		TypeMessageIntermediate: &MessageIntermediate{}, TypeWarning: &Warning{}, TypeYielded: &Yielded{},
		TypeBlocked: &Blocked{}, TypeUnblocked: &Unblocked{}, TypeRecorded: &Recorded{}, TypeClosed: &Closed{},
		TypeReminder: &Reminder{}, TypeEscalated: &Escalated{}, TypeDefaultTaken: &DefaultTaken{},
		TypeChanged: &Changed{}, TypeForgotten: &Forgotten{}, TypeNoted: &Noted{},
	}
	for typ, data := range samples() {
		delete(data, "truncated") // false is the zero value, which is left out
		body, err := encode(header(), typ, data)
		require.NoError(t, err)
		e, err := Decode(body)
		require.NoError(t, err)
		require.NoError(t, e.Decode(into[typ]))
		back, err := json.Marshal(into[typ])
		require.NoError(t, err)
		require.JSONEq(t, string(e.Data), string(back), typ)
	}
}

// F7: a violation is refused, and the error says of what, where and why.
func TestViolationsAreRefused(t *testing.T) {
	t.Parallel()
	cycle := map[string]any{}
	cycle["x"] = cycle
	asked := func(hints map[string]any) *InputRequired {
		return &InputRequired{InteractionID: 1, Kind: "open_text", Prompt: "Which?", UIHints: hints, AskedAt: epoch,
			DefaultDecisionPolicy: "abort", Profile: "resumable", OnDeadline: "keep_waiting"}
	}
	valid := &Warning{Code: "ENGINE_DIAGNOSTIC"}
	cases := []struct {
		name    string
		payload Payload
		change  func(h *Header)
		says    string
	}{
		{"missing member", &InputRequired{}, nil, "/kind"},
		{"wrong word", &Started{Mode: "sometimes"}, nil, "/mode"},
		{"wrong code", &Warning{Code: "no code"}, nil, "/code"},
		{"too long", &Warning{Code: "A", Detail: strings.Repeat("x", 65537)}, nil, "65536"},
		{"too small", &ReplyAccepted{ResolutionMode: "user_reply", AcceptedAt: epoch}, nil, "/interaction_id"},
		{"given twice", &StateChanged{From: "running", To: "failed", Trigger: "turn.failed", UpdatedAt: epoch,
			Terminal: &Terminal{Status: "failed", Warnings: []string{"A", "B", "A"}}}, nil, "/terminal/warnings"},
		{"year", &ReplyAccepted{InteractionID: 1, ResolutionMode: "user_reply",
			AcceptedAt: time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)}, nil, "years 1 to 9999"},
		{"endless", asked(cycle), nil, "nested deeper"},
		{"no JSON", asked(map[string]any{"f": func() {}}), nil, "func()"},
		{"run id", valid, func(h *Header) { h.RunID = "../etc" }, "run_id"},
		{"seq", valid, func(h *Header) { h.Seq = 0 }, "seq"},
		{"local seq", valid, func(h *Header) { h.LocalSeq = 0 }, "local_seq"},
		{"attempt", valid, func(h *Header) { h.Attempt = -1 }, "attempt"},
		{"ts", valid, func(h *Header) { h.TS = time.Time{} }, "ts"},
		{"engine", valid, func(h *Header) { h.Engine = "" }, "engine"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := header()
			if c.change != nil {
				c.change(&h)
			}
			body, err := Encode(h, c.payload)
			require.Nil(t, body)
			var v *SchemaViolation
			require.ErrorAs(t, err, &v)
			require.Equal(t, "PROTOCOL_SCHEMA_VIOLATION", v.Code())
			require.Equal(t, c.payload.Type(), v.Type)
			require.Contains(t, err.Error(), c.says)
		})
	}
}

// F8: a reader never takes something else for an event.
func TestDecodeRefusesWhatIsNoEvent(t *testing.T) {
	t.Parallel()
	good, err := encode(header(), TypeWarning, samples()[TypeWarning])
	require.NoError(t, err)
	for name, body := range map[string]string{
		"nothing": "", "text": "hello", "null": "null", "empty": "{}", "two": string(good) + string(good),
		"cut":            string(good[:len(good)-1]),
		"other protocol": strings.Replace(string(good), "fcmp/1.0", "fcmp/2.0", 1),
		"unknown member": strings.Replace(string(good), `"seq":7`, `"seq":7,"x":1`, 1),
		"seq 0":          strings.Replace(string(good), `"seq":7`, `"seq":0`, 1),
		"negative seq":   strings.Replace(string(good), `"seq":7`, `"seq":-7`, 1),
		"data is a list": strings.Replace(string(good), `"data":{"code":"ENGINE_DIAGNOSTIC","detail":"slow"}`,
			`"data":[]`, 1),
		"data is missing": strings.Replace(string(good), `"data":{"code":"ENGINE_DIAGNOSTIC","detail":"slow"},`, ``, 1),
		"data is null": strings.Replace(string(good), `"data":{"code":"ENGINE_DIAGNOSTIC","detail":"slow"}`,
			`"data":null`, 1),
		"run id":    strings.Replace(string(good), `run-1`, `run 1`, 1),
		"too large": strings.Replace(string(good), `slow`, strings.Repeat("x", MaxEvent), 1),
	} {
		_, err := Decode([]byte(body))
		require.ErrorIs(t, err, ErrEvent, name)
	}
	_, err = Decode([]byte(strings.Replace(string(good), `"code"`, `"kode"`, 1)))
	require.NoError(t, err, "Decode leaves the payload alone")
	_, err = Verify([]byte(strings.Replace(string(good), `"code"`, `"kode"`, 1)))
	require.ErrorIs(t, err, ErrEvent)
	_, err = Verify([]byte(strings.Replace(string(good), `diagnostic.warning`, `run.exploded`, 1)))
	require.ErrorIs(t, err, ErrEvent)
}

// F8, G4: Decode rejects events that readers understand differently, with the reason: a duplicate
// member, a member whose name differs in case, an unpaired surrogate.
func TestDecodeRefusesWhatReadersUnderstandDifferently(t *testing.T) {
	t.Parallel()
	body, err := encode(header(), TypeStateChanged, samples()[TypeStateChanged])
	require.NoError(t, err)
	good := string(body)
	asked, err := encode(header(), TypeInputRequired, samples()[TypeInputRequired])
	require.NoError(t, err)
	for _, c := range []struct{ body, old, new, says string }{
		{good, `"to":"failed"`, `"to":"failed","to":"succeeded"`, `key "to" is given twice`},
		{good, `"code":"ENGINE_FAILED"`, `"code":"ENGINE_FAILED","\u0063ode":"TURN_TIMEOUT"`,
			`key "code" is given twice`},
		{good, `"seq":7`, `"seq":7,"seq":8`, `key "seq" is given twice`},
		{good, `"attempt":2`, `"attempt":2,"attempt":3`, `key "attempt" is given twice`},
		{string(asked), `"wide":true`, `"wide":[{"x":1,"x":2}]`, `key "x" is given twice`},
		{good, `"seq"`, `"SEQ"`, `the envelope has no member "SEQ"; it is written "seq"`},
		{good, `"seq":7`, `"seq":7,"Seq":8`, `the envelope has no member "Seq"; it is written "seq"`},
		{good, `"attempt"`, `"Attempt"`, `meta has no member "Attempt"; it is written "attempt"`},
		{good, `"seq":7`, `"seq":7,"x":8`, `the envelope has no member "x"`},
		{good, `exit 1`, `exit \ud83d`, `the escape \ud83d at byte`},
		{good, `exit 1`, `exit \ude00\ud83d`, `the escape \ude00 at byte`},
		{good, `exit 1`, `exit \ud83d\ud83d\ude00`, `the escape \ud83d at byte`},
		{good, `{"protocol`, "\ufeff" + `{"protocol`, "byte order mark"},
	} {
		spoiled := strings.Replace(c.body, c.old, c.new, 1)
		require.NotEqual(t, c.body, spoiled, c.new)
		_, err := Decode([]byte(spoiled))
		require.ErrorIs(t, err, ErrEvent, c.new)
		require.ErrorContains(t, err, c.says)
		_, err = Verify([]byte(spoiled))
		require.ErrorContains(t, err, c.says)
	}
	for _, text := range []string{`\ud83d\ude00`, `\\ud83d`, `\u0000`} {
		e, err := Verify([]byte(strings.Replace(good, `exit 1`, text, 1)))
		require.NoError(t, err, text)
		require.Contains(t, string(e.Data), text)
	}
}

// F1, G4: an unknown type is reported as such, whatever else is foreign about the event, and so is
// an integer written as a fraction.
func TestVerifySaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	body, err := encode(header(), TypeReplyAccepted, samples()[TypeReplyAccepted])
	require.NoError(t, err)
	foreign := strings.NewReplacer(TypeReplyAccepted, "raw.stdout", `"seq":7`,
		`"seq":7,"raw_ref":null`).Replace(string(body))
	_, err = Verify([]byte(foreign))
	require.ErrorContains(t, err, `the contract has no event type "raw.stdout"`)
	for _, number := range []string{"1.0", "1e0", "10e-1", "92233720368547758080"} {
		_, err = Verify([]byte(strings.Replace(string(body), `"interaction_id":1`, `"interaction_id":`+number, 1)))
		require.ErrorContains(t, err, "/interaction_id is written "+number+": an integer is written as its digits")
	}
}

// F1, F2: a time that Go cannot read is rejected, since it could not be compared with anything.
func TestTimesAreWrittenAsTheyAreRead(t *testing.T) {
	t.Parallel()
	body, err := encode(header(), TypeReplyAccepted, samples()[TypeReplyAccepted])
	require.NoError(t, err)
	for _, at := range []string{"2026-01-02t02:04:05Z", "2026-01-02T02:04:05z", "2016-12-31T23:59:60Z"} {
		_, err = Verify([]byte(strings.Replace(string(body), `"accepted_at":"2026-01-02T02:04:05.678901Z"`,
			`"accepted_at":"`+at+`"`, 1)))
		require.ErrorContains(t, err, `/accepted_at is written "`+at+`": a time is written as in`)
	}
}

// F1: Decode's members are the schema's.
func TestTheEnvelopeHasItsMembers(t *testing.T) {
	t.Parallel()
	type object struct {
		Properties map[string]object
	}
	raw, ok := contract.EventSchema("")
	require.True(t, ok)
	var schema object
	require.NoError(t, json.Unmarshal(raw, &schema))
	require.ElementsMatch(t, slices.Collect(maps.Keys(schema.Properties)), envelopeMembers)
	require.ElementsMatch(t, slices.Collect(maps.Keys(schema.Properties["meta"].Properties)), metaMembers)
}

// F7: two names of hints that are no UTF-8 would become one member, given twice.
func TestNamesThatBecomeOneAreRefused(t *testing.T) {
	t.Parallel()
	data := samples()[TypeInputRequired]
	data["ui_hints"] = map[string]any{"\xff": 1, "x": 2}
	body, err := encode(header(), TypeInputRequired, data)
	require.NoError(t, err)
	_, err = Verify(body)
	require.NoError(t, err)
	data["ui_hints"] = map[string]any{"\xff": 1, "\xfe": 2}
	_, err = encode(header(), TypeInputRequired, data)
	require.ErrorContains(t, err, "is given twice")
}

// F7: the longest text that the schema allows still fits into an event, whatever its characters.
func TestLongestMessageFits(t *testing.T) {
	sample.Sequential(t)
	t.Parallel()
	for i, text := range []string{strings.Repeat("\x01", 1<<20), strings.Repeat("€", 1<<20),
		strings.Repeat("\xff", 1<<20)} {
		if i%stride != 0 {
			continue
		}
		body, err := encode(header(), TypeMessageFinal, map[string]any{"text": text})
		require.NoError(t, err)
		_, err = Verify(body)
		require.NoError(t, err)
		_, err = encode(header(), TypeMessageFinal, map[string]any{"text": text + "x"})
		require.Error(t, err)
	}
}

// FuzzDecode: whatever the bytes are, Decode ends; and what Verify accepts, Encode would write
// again with the same meaning.
func FuzzDecode(f *testing.F) {
	for typ, data := range samples() {
		body, err := encode(header(), typ, data)
		require.NoError(f, err)
		f.Add(body)
	}
	f.Add([]byte(`{"protocol_version":"fcmp/1.0"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		e, err := Verify(body)
		if err != nil {
			require.ErrorIs(t, err, ErrEvent)
			return
		}
		data, err := decodeObject(e.Data)
		require.NoError(t, err)
		h := Header{RunID: e.RunID, Seq: e.Seq, TS: e.TS, Engine: e.Engine, Attempt: e.Meta.Attempt,
			LocalSeq: e.Meta.LocalSeq}
		again, err := encode(h, e.Type, data)
		require.NoError(t, err)
		_, err = Verify(again)
		require.NoError(t, err)
	})
}

// F8: Mark returns the bytes that Encode writes for the new incarnation, also if the event had
// another incarnation or gets none. Both decoders accept them.
func TestF8MarkedEventsAreEncodedOnes(t *testing.T) {
	for _, p := range []Payload{&MessageFinal{Text: "x"}, &Blocked{Code: "ENGINE_FAILED", Message: "x"}} {
		h := Header{RunID: "r", Seq: 7, TS: time.Unix(1, 0), Engine: "e", Attempt: 1, LocalSeq: 2}
		plain, err := Encode(h, p)
		require.NoError(t, err)
		body := plain
		for _, n := range []uint64{1, 1_800_000_000_000_000, MaxIncarnation, 1_800_000_000_000_000, 0} {
			h.Incarnation = n
			want, err := Encode(h, p)
			require.NoError(t, err)
			body = Mark(body, n)
			require.Equal(t, string(want), string(body))
			e, err := Verify(body)
			require.NoError(t, err)
			require.Equal(t, n, e.Meta.Incarnation)
			slow, err := decodeSlow(body)
			require.NoError(t, err)
			require.Equal(t, slow, e)
			at, err := ParseCursor(e.Cursor().String())
			require.NoError(t, err)
			require.Equal(t, Cursor{7, n}, at)
			require.Equal(t, n > 0, e.ProtocolVersion == "fcmp/1.6")
			require.Equal(t, n > 0, strings.Contains(e.ID(), "@"), e.ID())
		}
		require.Equal(t, string(plain), string(body))
		for known, unknown := range map[string]string{`"fcmp/1.`: `"fcmp/9.`, p.Type(): "unknown"} {
			text := strings.Replace(string(plain), known, unknown, 1)
			require.Equal(t, text, string(Mark([]byte(text), 1)))
		}
	}
	require.Equal(t, "{}", string(Mark([]byte("{}"), 1)))
	_, err := Encode(Header{RunID: "r", Seq: 1, TS: time.Unix(1, 0), Engine: "e", LocalSeq: 1,
		Incarnation: MaxIncarnation + 1}, &MessageFinal{Text: "x"})
	require.Error(t, err)
	for _, text := range []string{"", "x", "-1", "1@", "@1", "1@x", "1@2@3", "1@9007199254740992"} {
		_, err := ParseCursor(text)
		require.ErrorIs(t, err, ErrEvent, text)
	}
}
