package lifecycle_test

import (
	"flag"
	"testing"

	"github.com/interlude-go/interlude/lifecycle/stories"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

var rewrite = flag.Bool("rewrite", false, "write what the stories' commands answer as what is expected from now on")

func TestStoriesOnMemory(t *testing.T) {
	run := stories.Run
	if *rewrite {
		run = func(t *testing.T, prepare func(testing.TB) stories.Opener) { stories.Rewrite(t, prepare, "stories") }
	}
	run(t, func(testing.TB) stories.Opener {
		var s *memory.Store // it is made in the story's bubble
		return func(testing.TB) store.Store {
			if s == nil {
				s = memory.New()
			}
			return s
		}
	})
}
