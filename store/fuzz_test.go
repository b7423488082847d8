package store_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/store"
)

// FuzzRecord: a history entry that can be read is written as encoding/json writes it, and is the
// same when it is read again.
func FuzzRecord(f *testing.F) {
	for _, r := range []interaction.Record{{}, {Question: waiting().Open[0]}, interaction.Settle(waiting().Open[0],
		answered().Answers[0], "key", "digest")} {
		body, err := store.AppendRecord(nil, &r)
		require.NoError(f, err)
		f.Add(body)
	}
	f.Add([]byte(`{"question":{"ui_hints":{"a":[1e300,"\ud800",{"b":null}]}},"resolved_at":"2026-03-01T12:00:00+23:59"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		var r interaction.Record
		if json.Unmarshal(body, &r) != nil {
			return
		}
		want, wantErr := json.Marshal(r)
		got, err := store.AppendRecord([]byte("before"), &r)
		if wantErr != nil { // a zone of a day or more
			require.ErrorIs(t, err, store.ErrInvalid)
			require.Equal(t, "before", string(got))
			return
		}
		require.NoError(t, err)
		require.Equal(t, "before"+string(want), string(got))
		var again interaction.Record
		require.NoError(t, json.Unmarshal(want, &again))
		rewritten, err := store.AppendRecord(nil, &again)
		require.NoError(t, err)
		require.Equal(t, string(want), string(rewritten))
	})
}

// FuzzLines: events survive storage as lines, from any cursor.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\nc"), uint64(1), uint64(0), 2)
	f.Add([]byte(`{"a":"\n"}`), uint64(7), uint64(7), 1)
	f.Fuzz(func(t *testing.T, text []byte, first, after uint64, limit int) {
		if first == 0 || first > 1<<40 || limit < 1 {
			return
		}
		var given, want []store.Event
		for i, body := range bytes.Split(text, []byte{'\n'}) {
			if len(body) == 0 {
				return // no event is empty
			}
			e := store.Event{Seq: first + uint64(i), Body: body}
			given = append(given, e)
			if size := sizeOf(want); e.Seq > after && len(want) < limit && size <= store.MinPage {
				want = append(want, e)
			}
		}
		lines, parts := store.JoinEvents(given)
		require.Equal(t, given, parts)
		x := store.EventPage{After: after, Limit: limit}
		x.Add(first, lines)
		require.Equal(t, want, x.Events)
	})
}

func sizeOf(events []store.Event) (size int) {
	for _, e := range events {
		size += len(e.Body)
	}
	return size
}

// FuzzQuery: a query that is accepted has bounds and a cursor that can be read; and a run passes
// the filters that were taken from it.
func FuzzQuery(f *testing.F) {
	f.Add("", 0, "default", "key", "team", "blue", "queued")
	f.Add(store.Cursor{At: time.Unix(0, 0), ID: "run-1"}.String(), 1000, "", "", "", "", "")
	f.Add("MTIgYQ", -1, "\xff", "\x00", "a\x00", "%", "x")
	f.Fuzz(func(t *testing.T, after string, limit int, pool, key, label, value, state string) {
		q := store.Query{After: after, Limit: limit, Pool: pool, Key: key, Labels: map[string]string{label: value},
			States: []fsm.State{fsm.State(state)}}
		if n, err := q.Normal(); err == nil {
			require.Positive(t, n.Limit)
			require.LessOrEqual(t, n.Limit, store.MaxBatch)
			if after != "" {
				_, err = store.ReadCursor(n.After)
				require.NoError(t, err)
			}
			again, err := n.Normal()
			require.NoError(t, err)
			require.Equal(t, n, again)
		} else {
			require.ErrorIs(t, err, store.ErrInvalid)
		}
		r := store.Run{Pool: pool, Key: key, Labels: map[string]string{label: value}, State: fsm.State(state)}
		require.True(t, q.Matches(&r))
		r.Labels = map[string]string{label: value + "x"}
		require.False(t, q.Matches(&r))
	})
}
