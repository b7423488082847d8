package engine_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
)

// J2: an error without a code or reason has no empty parts, since people read it as the reason of a
// hold.
func TestJ2AFailureHasNoEmptyParts(t *testing.T) {
	require.EqualError(t, engine.Hold("", "gone"), "gone")
	require.EqualError(t, engine.Hold("X", "gone"), "X: gone")
	require.EqualError(t, &engine.Failure{Code: "X", Err: errors.New("y")}, "X: y")
	require.EqualError(t, &engine.Failure{Code: "X", Detail: "z", Err: errors.New("y")}, "X: z: y")
}
