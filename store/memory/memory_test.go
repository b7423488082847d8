package memory_test

import (
	"testing"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
	"github.com/interlude-go/interlude/store/storetest"
)

func TestStorePassesTheSuite(t *testing.T) {
	storetest.Harness{
		Open: func(testing.TB) store.Store { return memory.New() },
		Lose: func(_ testing.TB, s store.Store, table storetest.Table, id string, last bool) {
			s.(*memory.Store).Lose(table, id, last)
		},
	}.Run(t)
}

// Stores of other authors have at least Open.
func TestSuiteNeedsOnlyOpen(t *testing.T) {
	storetest.Run(t, func(testing.TB) store.Store { return memory.New() })
}
