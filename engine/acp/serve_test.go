package acp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/interlude-go/interlude/engine/acp"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store/sqlite"
)

// hostEnv makes this test binary a host that serves in the folder until it is killed. hostCanEnv
// has the agent's abilities or, with separators, opencode's program and model URL.
const (
	hostEnv          = "ACP_TEST_HOST"
	hostCanEnv       = "ACP_TEST_HOST_CAN"
	hostCanSeparator = "|"
)

func serveForEver(dir, can string) int {
	ctx, cancel := context.WithTimeout(context.Background(), lifetime)
	defer cancel()
	if err := serve(ctx, dir, can); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func serve(ctx context.Context, dir, can string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	st, err := sqlite.Open(ctx, filepath.Join(dir, "runs.db"), sqlite.Options{})
	if err != nil {
		return err
	}
	cfg := agentOf(self, dir, can)
	if words := strings.Split(can, hostCanSeparator); len(words) == 3 {
		cfg = opencode(words[1], words[2])
		cfg.StateDir = filepath.Join(dir, "processes")
	}
	e, err := acp.New(cfg)
	if err != nil {
		return err
	}
	lc, err := lifecycle.New(lifecycle.Config{Store: st, Engine: e, Dir: filepath.Join(dir, "runs"),
		Poll: 50 * time.Millisecond})
	if err != nil {
		return err
	}
	return lc.Serve(ctx)
}
