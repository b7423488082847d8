package memory_test

import (
	"testing"

	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
	"github.com/interlude-go/interlude/store/storetest"
)

func TestStorePassesTheSuite(t *testing.T) {
	storetest.Run(t, func(testing.TB) store.Store { return memory.New() })
}
