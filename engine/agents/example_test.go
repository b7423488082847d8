package agents_test

import (
	"fmt"
	"time"

	"github.com/interlude-go/interlude/engine/agents"
)

// One line plugs an agent in; the engine goes into lifecycle.Config. The agent is located on first
// use.
func Example() {
	eng, err := agents.Codex(agents.Options{})
	fmt.Println(eng != nil, err)
	// Output: true <nil>
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
