// Package agentmain is the common part of test agents' programs: test binaries started as the
// agent.
//
// Neighbours: engine/enginetest has an agent that plays scripts, engine/internal/modelagent one
// that asks a model.
package agentmain

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// Lifetime is when an agent that an engine failed to end gives up by itself.
const Lifetime = 5 * time.Minute

// Name is the first argument of a process that is the agent.
type Name string

// IsProgram reports whether this process was started as the agent.
func (n Name) IsProgram() bool { return len(os.Args) > 1 && os.Args[1] == string(n) }

// Args is how the agent's program is called: for one turn, or, if it is resident, to stay and be
// given {"input": …} lines.
func (n Name) Args(resident bool, flags ...string) []string {
	args := append([]string{string(n)}, flags...)
	if resident {
		args = append(args, "-resident")
	}
	return args
}

// Serve has turn called with the input. For a resident agent it has turn called with the input of
// each line instead, until the lines end or turn returns another status than 0.
func Serve(resident bool, input string, turn func(input string) (status int)) (status int) {
	if !resident {
		return turn(input)
	}
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		var message struct {
			Input string `json:"input"`
		}
		if err := json.Unmarshal(line, &message); err != nil {
			fmt.Fprintln(os.Stderr, "agent: input:", err)
			return 1
		}
		if status := turn(message.Input); status != 0 {
			return status
		}
	}
}
