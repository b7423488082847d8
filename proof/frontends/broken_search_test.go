//go:build search

package frontends_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// L1: a front end, or a store, that keeps one promise less is found out by the same race.
func TestL1BrokenHandlersAreFound(t *testing.T) {
	refused, err := openWorld(t, memory.New(), nil).race(t.Context(), 20, 8)
	require.NoError(t, err)
	require.Empty(t, refused, "that of a host that keeps all promises")
	var shown sync.Map
	for name, c := range map[string]struct {
		store  store.Store
		around around
	}{
		"acknowledges a reply that has lost": {around: replacing(func(r *http.Request, a *answer) {
			if isReply(r) && a.problem().Code == "SETTLED" {
				a.status, a.body = http.StatusCreated, nil
			}
		})},
		"names a wrong winner": {around: replacing(func(r *http.Request, a *answer) {
			if isReply(r) {
				a.body = actor.ReplaceAll(a.body, []byte(`"actor":"ann"`))
			}
		})},
		"shows what it has shown before": {around: replacing(func(r *http.Request, a *answer) {
			if strings.HasSuffix(r.URL.Path, "/history") {
				first, _ := shown.LoadOrStore(r.URL.Path, a.body)
				a.body = first.([]byte)
			}
		})},
		"looks first, and replies later":             {around: looksFirst},
		"forgets keys":                               {around: forgetsKeys},
		"its store acknowledges what was not stored": {store: lenient{memory.New()}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.store == nil {
				c.store = memory.New()
			}
			w := openWorld(t, c.store, c.around)
			refused, err := w.race(t.Context(), 300, 8)
			require.NoError(t, err)
			require.NotEmpty(t, refused, "nobody noticed")
		})
	}
}
