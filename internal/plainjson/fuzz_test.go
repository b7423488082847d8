package plainjson_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzScan: the Scanner reads what encoding/json reads, and the Writer writes it again as
// encoding/json does.
func FuzzScan(f *testing.F) {
	for _, v := range []sample{full(), {}} {
		body, err := json.Marshal(v)
		require.NoError(f, err)
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !requireRead(t, body) {
			return
		}
		v, ok := scanSample(body, nil)
		require.True(t, ok, "known words are a matter of memory")
		want, err := json.Marshal(v)
		if err != nil { // a time zone of a day or more cannot be written
			_, err = appendSample(nil, &v)
			require.Error(t, err)
			return
		}
		again, err := appendSample(nil, &v)
		require.NoError(t, err)
		require.Equal(t, string(want), string(again))
	})
}
