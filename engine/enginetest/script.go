package enginetest

import "github.com/interlude-go/interlude/engine/enginetest/script"

// Step is one thing that the scripted agent does; see script.Step for what there is.
type Step = script.Step

// Script is an input that tells the agent to do the steps.
func Script(steps ...string) string { return script.Script(steps...) }

// Steps reads an input.
func Steps(input string) []Step { return script.Steps(input) }
