package store_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// The stored form is what encoding/json writes. Each field is tested by itself, so that none can
// be forgotten.
func TestEncodeWritesEveryField(t *testing.T) {
	fields := 0
	empty, err := store.AppendRun(nil, &store.Run{})
	require.NoError(t, err)
	eachField(t, func(t *testing.T, path string, r store.Run) {
		fields++
		got, err := store.AppendRun(nil, &r)
		require.NoError(t, err, path)
		require.Equal(t, stored(t, r), string(got), path)
		require.NotEqual(t, string(empty), string(got), path)
	})
	require.Greater(t, fields, 60, "the fields were found")

	none, err := store.AppendRecord(nil, &interaction.Record{})
	require.NoError(t, err)
	eachField(t, func(t *testing.T, path string, r interaction.Record) {
		got, err := store.AppendRecord(nil, &r)
		require.NoError(t, err, path)
		require.Equal(t, marshaled(t, r), string(got), path)
		require.NotEqual(t, string(none), string(got), path)
	})
}

// stored is a run as encoding/json writes it, but for its output, which stands there as it is, and
// for the list around a run that the first form of records did not know.
func stored(t require.TestingT, r store.Run) string {
	output := string(r.Output)
	if output != "" {
		r.Output = json.RawMessage(`"the output"`)
	}
	body := strings.Replace(marshaled(t, r), `"output":"the output"`, `"output":`+output, 1)
	if r.ForkedFrom != nil {
		return "[3," + body + "]"
	}
	if r.Block != nil || r.Yielded > 0 || r.OnInterrupt != "" || r.Hold != "" || r.Budget != nil {
		return "[2," + body + "]"
	}
	return body
}

// J2, J14: a record that says something new is refused by an older version of this package, which
// would otherwise store it again without that. All others have the form that they always had.
func TestOlderVersionsRefuseWhatTheyDoNotKnow(t *testing.T) {
	r := submitted()
	body, err := store.Encode(r)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(body, &store.Run{}))

	until := r.UpdatedAt.Add(time.Minute)
	r.NotBefore, r.Attempt, r.Yielded, r.Repeats = until, 1, 1, 1
	r.Block = &store.Block{Kind: store.BlockRetry, Until: until, Code: fsm.CodeEngineFailed, Reason: "503"}
	body, err = store.Encode(r)
	require.NoError(t, err)
	require.Error(t, json.Unmarshal(body, &store.Run{}), "which is how an older version reads it")
	got, err := store.Decode(body)
	require.NoError(t, err)
	require.Equal(t, r, got)
	for _, damaged := range []string{string(body[:len(body)-1]), "[4," + string(body[3:]), "[2,]",
		"[2," + string(body) + "]"} {
		_, err = store.Decode([]byte(damaged))
		require.ErrorIs(t, err, store.ErrCorrupt, damaged)
	}
}

// J6 J14: an older version refuses the record of a fork, too. It would otherwise execute the fork
// in the session of the original run. A version that knows held runs can read the form of their
// records, so the record of a fork has yet another form.
func TestOlderVersionsRefuseForks(t *testing.T) {
	r := submitted()
	r.ForkedFrom = &store.ForkPoint{RunID: "first", Question: 3}
	body, err := store.Encode(r)
	require.NoError(t, err)
	require.Error(t, json.Unmarshal(body, &store.Run{}), "which is how an older version reads it")
	require.NotEqual(t, "[2,", string(body[:3]), "which is what an older version unwraps")
	got, err := store.Decode(body)
	require.NoError(t, err)
	require.Equal(t, r, got)

	r.ForkedFrom.RunID = r.ID
	require.ErrorIs(t, r.Coherent(), store.ErrInvalid, "no run is forked from itself")
	r.ForkedFrom = &store.ForkPoint{}
	require.ErrorIs(t, r.Coherent(), store.ErrInvalid)
}

func TestEncodeMatchesJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyRun(t)
		got, err := store.AppendRun([]byte("before"), &r)
		require.NoError(t, err)
		require.Equal(t, "before"+stored(t, r), string(got))
		whole, err := store.Encode(r)
		require.NoError(t, err)
		require.Equal(t, string(got), "before"+string(whole))

		h := anyRecord(t)
		got, err = store.AppendRecord([]byte("before"), &h)
		require.NoError(t, err)
		require.Equal(t, "before"+marshaled(t, h), string(got))
	})
}

func TestCodecMatchesJSONForEveryByte(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			r := store.Run{ID: strings.Repeat("a", at) + string([]byte{byte(c)}) + strings.Repeat("~", 19-at)}
			got, err := store.AppendRun(nil, &r)
			require.NoError(t, err)
			want := marshaled(t, r)
			if string(got) != want {
				require.Equal(t, want, string(got))
			}
			require.True(t, requireScanned(t, got), "%s", got)
			requireScanned(t, []byte(strings.Replace(want, `"id":"a`, `"id":"`+string([]byte{byte(c)}), 1)))
		}
	}
}

// B5: an agent may write its output as any JSON text. The store keeps it byte for byte, or
// refuses it.
func TestEncodeKeepsOutputBytes(t *testing.T) {
	for _, output := range []string{
		`{}`, `[]`, `""`, `0`, `-0`, `1.5e+9`, `1E9`, `null`, `true`, `{"a":{"b":[1,2]},"a":3}`, `{ "a" : [ 1 , 2 ] }`,
		"{\n\t\"a\": 1\r\n}", `"<&>"`, "\"\u2028\u2029\"",
		`"\u003c\/\ud83d\ude00\ud83d"`, "\"\xff\"", "\"\xe2\x80\"", "\"é\"", `{"}":"\"{"}`, `["\\"]`,
		strings.Repeat("[", 100) + " " + strings.Repeat("]", 100),
		strings.Repeat("[", 9_999) + " " + strings.Repeat("]", 9_999), `"` + strings.Repeat("long ", 20_000) + `"`,
	} {
		r := finished()
		r.Output = json.RawMessage(output)
		name := output[:min(len(output), 40)]
		body, err := store.Encode(r)
		require.NoError(t, err, name)
		require.Contains(t, string(body), output, name)
		requireScanned(t, body)
		got, err := store.Decode(body)
		require.NoError(t, err, name)
		require.Equal(t, output, string(got.Output), name)
	}
	for _, output := range []string{
		`{"a":`, `{"a"}`, `{"a":1,}`, `{,}`, `{1:2}`, `[1,]`, `[1 2]`, `01`, `1.`, `.5`, `-`, `1e`, `+1`, `"\x"`,
		`"\u12g4"`, `"\u12`, `"a`, "\"\n\"", `tru`, `nul`, `{}{}`,
		`1 2`, `]`, ` {}`, "{}\n", ` `, strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
	} {
		r := finished()
		r.Output = json.RawMessage(output)
		_, err := store.Encode(r)
		name := output[:min(len(output), 40)]
		require.ErrorIs(t, err, store.ErrInvalid, name)
		require.ErrorContains(t, err, "cannot be encoded: output: ", name)
	}
}

func TestFailedAppendLeavesBuffer(t *testing.T) {
	hints := map[string]any{"f": math.Inf(1)}
	late := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	for member, spoil := range map[string]func(*store.Run){
		"created_at": func(r *store.Run) { r.CreatedAt = late },
		"asked_at":   func(r *store.Run) { r.Pending.AskedAt, r.Pending.UIHints = late, nil },
		"ui_hints":   func(r *store.Run) { r.Pending.UIHints, r.FinishedAt = hints, late },
		"output":     func(r *store.Run) { r.Output = json.RawMessage("{") },
	} {
		r := parked()
		spoil(&r)
		got, err := store.AppendRun([]byte("before"), &r)
		require.ErrorIs(t, err, store.ErrInvalid)
		require.ErrorContains(t, err, "run run-1 cannot be encoded: "+member+": ")
		require.Equal(t, "before", string(got))
	}
	got, err := store.AppendRecord([]byte("before"), &interaction.Record{Question: interaction.Question{ID: 3,
		UIHints: hints}})
	require.ErrorIs(t, err, store.ErrInvalid)
	require.ErrorContains(t, err, "interaction 3 cannot be encoded: ui_hints: ")
	require.Equal(t, "before", string(got))
}

// Under the race detector, a sync.Pool drops one value in four at random, and encoding/json has
// pools: the mean of a thousand runs, rounded down, does not show that.
func TestWriterReusesItsBuffer(t *testing.T) {
	r, buf := finished(), make([]byte, 0, 4096)
	require.Zero(t, testing.AllocsPerRun(1000, func() { buf, _ = store.AppendRun(buf[:0], &r) }))
}

func marshaled(t require.TestingT, v any) string {
	body, err := json.Marshal(v)
	require.NoError(t, err)
	return string(body)
}
