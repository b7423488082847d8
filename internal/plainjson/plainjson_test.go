package plainjson_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/internal/plainjson"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)

func full() sample {
	return sample{
		Text: "text\n", TextIf: "\"more\"", Own: strings.Repeat("own", 40), Word: "blue", Int: -3, IntIf: 4, Uint: 5,
		UintIf: 6, Span: time.Hour, SpanIf: -1,
		Flag: true, FlagIf: true, Time: noon, TimeIf: noon, Bytes: []byte{0, 255}, LabelsIf: map[string]string{"b": "2",
			"a": "1"},
		RawIf: json.RawMessage(`{"a":[1,"b"]}`), ValuesIf: map[string]any{"c": []any{"d", 1.5}},
	}
}

func words() plainjson.Words {
	known := plainjson.Words{}
	plainjson.Learn(known, colour("blue"))
	return known
}

// requireRead checks that the Scanner, if it accepts body, reads it as encoding/json does, and
// returns whether it accepts it.
func requireRead(t require.TestingT, body []byte) bool {
	got, ok := scanSample(body, words())
	if !ok {
		return false
	}
	var want sample
	require.NoError(t, json.Unmarshal(body, &want), "read by hand: %s", body)
	require.Equal(t, want, got, "read by hand: %s", body)
	return true
}

func TestWriterAndScannerAgreeWithEncodingJSON(t *testing.T) {
	for name, v := range map[string]sample{"full": full(), "empty": {}} {
		body, err := appendSample([]byte("before"), &v)
		require.NoError(t, err, name)
		want, err := json.Marshal(v)
		require.NoError(t, err, name)
		require.Equal(t, "before"+string(want), string(body), name)
		require.True(t, requireRead(t, want), name)
	}
	rapid.Check(t, func(t *rapid.T) {
		v := anySample(t)
		want, err := json.Marshal(v)
		require.NoError(t, err)
		body, err := appendSample(nil, &v)
		require.NoError(t, err)
		require.Equal(t, string(want), string(body))
		require.True(t, requireRead(t, body), "%s", body)
	})
}

// When some bytes are replaced with any others, the Scanner reads what encoding/json reads, or
// gives up.
func TestScannerReadsDamagedTextAsEncodingJSONOrGivesUp(t *testing.T) {
	whole, err := json.Marshal(full())
	require.NoError(t, err)
	pieces := []string{``, `"`, `{`, `}`, `[`, `]`, `,`, `:`, ` `, `\`, `\n`, `\ud83d`, `null`, `true`, `0`, `-`, `.`,
		`99999999999999999999`, "\x00", "\xff", "é"}
	for at := range whole {
		require.False(t, requireRead(t, whole[:at]), "cut off at %d", at)
		for _, piece := range pieces {
			for _, until := range []int{at, at + 1} {
				requireRead(t, []byte(string(whole[:at])+piece+string(whole[until:])))
			}
		}
	}
}

func TestWriterReturnsTheFirstError(t *testing.T) {
	late := time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	for member, spoil := range map[string]func(*sample){
		"time":      func(v *sample) { v.Time, v.TimeIf = late, late },
		"raw_if":    func(v *sample) { v.RawIf = json.RawMessage(`{`); v.ValuesIf["f"] = math.Inf(1) },
		"values_if": func(v *sample) { v.ValuesIf["f"] = math.Inf(1) },
	} {
		v := full()
		spoil(&v)
		_, err := appendSample(nil, &v)
		require.ErrorContains(t, err, member+": ")
	}
}

func TestScannerAllocatesNoWords(t *testing.T) {
	body, err := json.Marshal(full())
	require.NoError(t, err)
	known := words()
	v, ok := scanSample(body, known)
	require.True(t, ok)
	require.Same(t, unsafe.StringData(known["blue"]), unsafe.StringData(string(v.Word)))
}

// The Scanner copies its input: a database may reuse the bytes.
func TestScannerCopiesWhatItReads(t *testing.T) {
	body, err := json.Marshal(full())
	require.NoError(t, err)
	v, ok := scanSample(body, nil)
	require.True(t, ok)
	clear(body)
	require.Equal(t, full(), v)
}

func TestExactCopiesWhatItReads(t *testing.T) {
	write := func(text string) func(dst []byte) ([]byte, error) {
		return func(dst []byte) ([]byte, error) { return append(dst, text...), nil }
	}
	first, err := plainjson.Exact(write("first"))
	require.NoError(t, err)
	long, err := plainjson.Exact(write(strings.Repeat("long", 1<<16)))
	require.NoError(t, err)
	require.Len(t, long, 4<<16)
	second, err := plainjson.Exact(write("other"))
	require.NoError(t, err)
	require.Equal(t, "first", string(first))
	require.Equal(t, "other", string(second))

	broken := errors.New("broken")
	none, err := plainjson.Exact(func(dst []byte) ([]byte, error) { return append(dst, "half"...), broken })
	require.ErrorIs(t, err, broken)
	require.Nil(t, none)
}

func TestWriterReusesItsBuffer(t *testing.T) {
	v, buf := full(), make([]byte, 0, 4096)
	v.ValuesIf = nil // encoding/json writes and reads it
	require.Zero(t, testing.AllocsPerRun(1000, func() { buf, _ = appendSample(buf[:0], &v) }))
}
