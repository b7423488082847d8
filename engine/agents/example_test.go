package agents_test

import (
	"fmt"
	"time"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/agents"
)

// One line plugs an agent in; the engine goes into lifecycle.Config. The agent is located on first
// use.
func Example() {
	for name, plugIn := range map[string]func() (engine.Engine, error){
		"codex": func() (engine.Engine, error) {
			eng, err := agents.Codex(agents.Options{})
			return eng, err
		},
		"claude": func() (engine.Engine, error) {
			eng, err := agents.Claude(agents.Options{})
			return eng, err
		},
		"claude, resident": func() (engine.Engine, error) {
			eng, err := agents.Claude(agents.Options{Resident: true})
			return eng, err
		},
		"gemini": func() (engine.Engine, error) {
			eng, err := agents.Gemini(agents.Options{})
			return eng, err
		},
		"opencode": func() (engine.Engine, error) {
			eng, err := agents.Opencode(agents.Options{Model: "anthropic/claude-sonnet-4-5"})
			return eng, err
		},
		"qwen": func() (engine.Engine, error) {
			eng, err := agents.Qwen(agents.Options{})
			return eng, err
		},
	} {
		eng, err := plugIn()
		fmt.Println(name, eng != nil, err)
	}
	// Unordered output:
	// codex true <nil>
	// claude true <nil>
	// claude, resident true <nil>
	// gemini true <nil>
	// opencode true <nil>
	// qwen true <nil>
}

// A resident Claude Code with limits and a secret token of the host.
func ExampleClaude() {
	eng, err := agents.Claude(agents.Options{
		Command: "/opt/claude/bin/claude", Model: "opus", Resident: true,
		Env: []string{"GITHUB_TOKEN"}, Secrets: []string{"GITHUB_TOKEN"},
		TurnLimit: time.Hour, IdleLimit: 10 * time.Minute, MaxMemory: 4 << 30,
	})
	fmt.Println(eng != nil, err)
	// Output: true <nil>
}
