package enginetest_test

import (
	"testing"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
)

// B1, B2, B4, B10, B11, D5, E2, I2, I6, I11: an engine from a Go function passes the suite.
func TestFuncPassesTheSuite(t *testing.T) {
	for name, agent := range map[string]func() engine.Engine{"model": enginetest.Agent, "plain": enginetest.Plain} {
		t.Run(name, func(t *testing.T) {
			enginetest.Run(t, enginetest.Harness{New: func(testing.TB, string) engine.Engine { return agent() }})
		})
	}
}
