package enginetest

import "github.com/interlude-go/interlude/engine/enginetest/script"

// Step is one step of the scripted agent; script.Step lists them.
type Step = script.Step

// Script returns an input with the steps.
func Script(steps ...string) string { return script.Script(steps...) }

// Steps parses an input.
func Steps(input string) []Step { return script.Steps(input) }
