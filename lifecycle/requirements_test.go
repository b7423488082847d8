package lifecycle_test

import (
	"testing"

	"github.com/interlude-go/interlude/lifecycle/lifecycletest"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

func TestRequirementsOnMemory(t *testing.T) {
	lifecycletest.Run(t, func(testing.TB) store.Store { return memory.New() })
}
