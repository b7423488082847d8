package postgres_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/postgres"
)

// large makes the body of a commit's event n bytes longer.
func large(c store.Commit, n int, fill byte) store.Commit {
	body := fmt.Appendf(nil, `{"run_id":%q,"seq":%d,"text":"%s"}`, c.Run.ID, c.Run.Seq,
		bytes.Repeat([]byte{fill}, n))
	c.Events[0].Body = body
	return c
}

// A connection encodes batches into memory of earlier ones: no content depends on the sizes before.
func TestBatchesOfEverySizeAreStored(t *testing.T) {
	for name, settings := range map[string][]string{
		"prepared":              {"pool_max_conns=1"},
		"described, cached":     {"pool_max_conns=1", "default_query_exec_mode=cache_describe"},
		"statement caching off": {"pool_max_conns=1", "default_query_exec_mode=exec"},
		"simple protocol":       {"pool_max_conns=1", "default_query_exec_mode=simple_protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			w, reader := newWorld(t, postgres.Options{})
			writer := w.open(postgres.Options{}, settings...)
			want := make(map[string][]string)
			for i, n := range []int{0, 900, 1200, 0, 600_000, 3, 300_000, 1100, 270_000, 0} {
				var batch []store.Commit
				for j := range 3 { // alone in its statement, and with others
					c := created(fmt.Sprintf("r%d.%d", i, j))
					c = large(c, n/(j+1), 'a'+byte(i))
					c.Spec = fmt.Appendf(nil, `{"job":"%s"}`, bytes.Repeat([]byte{'A' + byte(i)}, n))
					w.commit(writer, c)
					next := large(report(c.Run), n, 'a'+byte(j))
					batch = append(batch, next)
					want[c.Run.ID] = []string{string(c.Spec), string(c.Events[0].Body), string(next.Events[0].Body)}
				}
				for _, err := range writer.Commit(t.Context(), batch) {
					require.NoError(t, err)
				}
			}
			for id, texts := range want {
				spec, err := reader.Spec(t.Context(), id)
				require.NoError(t, err)
				require.True(t, bytes.Equal(spec, []byte(texts[0])), id) // too long to be printed
				for seq, text := range texts[1:] {
					events, err := reader.Events(t.Context(), id, uint64(seq), 1)
					require.NoError(t, err)
					require.True(t, len(events) == 1 && string(events[0].Body) == text, "%s, event %d", id, seq+1)
				}
			}
		})
	}
}

// The store copies each byte several times. Without the memory of earlier batches, a written byte
// costs 12 allocated bytes instead of 5.
func TestBatchesUseTheMemoryOfEarlierOnes(t *testing.T) {
	w, _ := newWorld(t, postgres.Options{})
	s := w.open(postgres.Options{}, "pool_max_conns=1")
	const size, runs, batches = 5000, 40, 10
	batch := make([]store.Commit, runs)
	for i := range batch {
		batch[i] = created(fmt.Sprint("r", i))
		w.commit(s, batch[i])
	}
	write := func() {
		for range batches {
			for i := range batch {
				batch[i] = large(report(batch[i].Run), size, 'x')
			}
			for _, err := range s.Commit(t.Context(), batch) {
				require.NoError(t, err)
			}
		}
	}
	write() // prepares the statements
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	write()
	runtime.ReadMemStats(&after)
	require.Less(t, float64(after.TotalAlloc-before.TotalAlloc)/(size*runs*batches), 8.0)
}
