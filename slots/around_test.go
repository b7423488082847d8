package slots_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/interlude-go/interlude/slots"
)

// line is some keys in byte order that fail at the nth look.
type line struct {
	keys []string
	at   int
	err  error
}

func (l *line) next(after string, inclusive bool) (string, bool, error) {
	if l.at--; l.at < 0 {
		return "", false, l.err
	}
	i, found := slices.BinarySearch(l.keys, after)
	if found && !inclusive {
		i++
	}
	if i == len(l.keys) {
		return "", false, nil
	}
	return l.keys[i], true, nil
}

// One round visits each key once, in turn, whether or not it starts at a key; it asks no more than
// needed; and an error ends it.
func TestAroundVisitsEachKeyOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"", "a", "b", "bb", "c", "é", "ü"}), 0, -1,
			rapid.ID).Draw(t, "keys")
		slices.Sort(keys)
		last := rapid.SampledFrom([]string{"", "0", "b", "ba", "ü", "ÿ"}).Draw(t, "last")
		after := slices.IndexFunc(keys, func(key string) bool { return key > last })
		if after < 0 {
			after = len(keys)
		}
		want := append([]string{}, slices.Concat(keys[after:], keys[:after])...)

		l := &line{keys: keys, at: len(keys) + 3}
		got := []string{}
		for key, err := range slots.Around(last, l.next) {
			require.NoError(t, err)
			got = append(got, key)
		}
		require.Equal(t, want, got)
		looks := len(keys) + 3 - l.at
		if slices.Contains(keys, last) {
			require.Equal(t, len(keys)+1, looks, "it ends with last, and looks no further")
		}

		stop := rapid.IntRange(0, len(keys)).Draw(t, "stop")
		l.at = len(keys) + 3
		got = []string{}
		for key := range slots.Around(last, l.next) {
			if got = append(got, key); len(got) >= stop {
				break
			}
		}
		require.LessOrEqual(t, len(keys)+3-l.at, max(stop, 1)+1)

		gone := errors.New("disk is gone")
		l.at, l.err = rapid.IntRange(0, looks-1).Draw(t, "fails at"), gone
		got = []string{}
		var failed error
		for key, err := range slots.Around(last, l.next) {
			require.NoError(t, failed, "nothing comes after the error")
			if failed = err; err == nil {
				got = append(got, key)
			}
		}
		require.ErrorIs(t, failed, gone)
		require.Equal(t, want[:len(got)], got)
	})
}
