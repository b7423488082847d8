package storetest

import (
	"fmt"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/store"
)

// odd are texts that mean something to a database, to JSON or to a pattern, or that look alike. A
// specification may contain any.
var odd = []string{
	"", "a", "A", "a\x00b", "\x00", `"`, `'`, `\`, `a"="b`, "%", "_", "*", "$.labels", "$[0]", "a.b", "1", "1.0", "01",
	"true", "null", "[]", `{"a":1}`, " ", "a ", "\n",
	"é", "e\u0301", "\ufeff", "\u2028", "😀",
}

var filterCases = []promised{
	{
		"list/filters by any text",
		"Labels and keys are arbitrary texts: a listing returns the runs that Query.Matches accepts, whatever the " +
			"texts contain, and no run for a text that no run can have.",
		func(w *world) {
			var all []store.Run
			for i, word := range odd {
				labels := map[string]string{word: odd[(i+1)%len(odd)], "n": word}
				all = append(all, w.submit(fmt.Sprintf("r%02d", i), withKey(word), withLabels(labels)))
			}
			agree := func(q store.Query) {
				w.Helper()
				q.Limit = len(odd) + 1
				want := []string{}
				for _, r := range all {
					if q.Matches(&r) {
						want = append(want, r.ID)
					}
				}
				page, err := w.store.Runs(w.ctx, q)
				require.NoError(w, err, "%+q", q)
				require.Equal(w, want, ids(page.Runs), "%+q", q)
			}
			for i, word := range append([]string{"\xff", "a\xff", "\xed\xa0\x80"}, odd...) {
				agree(store.Query{Key: word})
				agree(store.Query{Pool: word})
				agree(store.Query{States: []fsm.State{fsm.State(word)}})
				agree(store.Query{Labels: map[string]string{"n": word}})
				agree(store.Query{Labels: map[string]string{"n": word, word: odd[i%len(odd)]}})
				for _, value := range odd {
					agree(store.Query{Labels: map[string]string{word: value}})
				}
			}
		},
	},
}
