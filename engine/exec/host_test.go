package exec_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/enginetest"
	"github.com/interlude-go/interlude/engine/exec"
)

// hostEnv makes this test binary a host that executes a turn, given as JSON.
const hostEnv = "EXEC_TEST_HOST"

type hosting struct {
	Dir  string
	Turn engine.Turn
}

// host executes the turn and ends with it, unless it is killed.
func host(task string) int {
	var h hosting
	if err := json.Unmarshal([]byte(task), &h); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	self, _ := os.Executable() // found by its parent
	e, err := exec.New(exec.Config{
		Name: "scripted", Command: self, StateDir: h.Dir, Args: enginetest.Args("{input}", "{artifacts}", "", false),
		Rules: []exec.Rule{{Match: map[string]string{"type": "final"}, Do: exec.Final, Path: "text"}},
	})
	if err == nil {
		_, err = e.RunTurn(context.Background(), h.Turn, &enginetest.Recorder{})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
