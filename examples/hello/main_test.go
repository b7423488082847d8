package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/lifecycle/rehearsal"
)

// N1: a no is not taken for a yes.
func TestN1ANoIsNoYes(t *testing.T) {
	for text, want := range map[string]string{"yes": "shipped", "no": "not shipped"} {
		run := rehearsal.Play(t, rehearsal.Case{Config: lifecycle.Config{Engine: agent},
			Spec: lifecycle.Spec{Prompt: "Release version 2."}, Reply: rehearsal.Says(text)})
		require.Equal(t, want, run.FinalText)
	}
}
