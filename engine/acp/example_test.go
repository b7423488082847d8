package acp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/engine/acp"
)

// One line plugs an agent in; the engine goes into lifecycle.Config. Give each run a separate home,
// with settings of its agent.
func Example() {
	eng, err := acp.New(acp.Config{Command: "opencode", Args: []string{"acp"}, Env: []string{"PATH", "HOME"}})
	fmt.Println(eng != nil, err)

	writeSettings := func(home string) error {
		return os.WriteFile(filepath.Join(home, "settings.json"), []byte("{}"), 0o600)
	}
	eng, err = acp.New(acp.Config{Command: "opencode", Args: []string{"acp"}, Env: []string{"PATH"},
		Set:     map[string]string{"HOME": "{home}"},
		Prepare: func(_ context.Context, t engine.Turn) error { return writeSettings(t.HomeDir) },
	})
	fmt.Println(eng != nil, err)
	// Output:
	// true <nil>
	// true <nil>
}
