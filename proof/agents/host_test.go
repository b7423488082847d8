//go:build linux

package agents_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/interlude-go/interlude/engine/agents"
	"github.com/interlude-go/interlude/engine/agents/agentstest"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/proof/cast"
	"github.com/interlude-go/interlude/slots"
	"github.com/interlude-go/interlude/store/sqlite"
)

func TestMain(m *testing.M) {
	cast.ServeHost(host)
	os.Exit(agentstest.Main(m))
}

// place says where a host works, and with which agent.
type place struct {
	Dir     string
	Agent   string // a key of byName
	Program string
	Model   string // the address of the model
}

// agent describes how a host uses an agent.
type agent struct {
	program string
	new     func(agents.Options) (*agents.Engine, error)
	set     map[string]string
	stays   bool // the agent has one process for all turns
	brief   bool // only the first story is run with it; other agents share its code
	// sessions are patterns of the files in the run's home that hold its session.
	sessions []string
}

// byName has all agents.
var byName = map[string]agent{
	"codex": {program: "codex", new: agents.Codex, sessions: []string{".codex/sessions/*/*/*/*"}},
	"claude": {program: "claude", new: agents.Claude, set: claudeSet,
		sessions: []string{".claude/projects/*/*"}},
	"claude-resident": {program: "claude", new: agents.Claude, set: claudeSet, stays: true},
	"gemini":          {program: "gemini", new: agents.Gemini, sessions: []string{".gemini/tmp/*/chats/*"}},
	"qwen":            {program: "qwen", new: agents.Qwen, sessions: []string{".qwen/projects/*/chats/*"}, brief: true},
	"opencode": {program: "opencode", new: agents.Opencode,
		sessions: []string{".local/share/opencode/opencode.db*"}, brief: true},
}

// claudeSet has a key that is never checked, and allows root to have all permissions in auto mode.
var claudeSet = map[string]string{"ANTHROPIC_API_KEY": "none-needed", "IS_SANDBOX": "1"}

// host executes runs until its parent closes its input or dies.
func host(ctx context.Context, p place) error {
	s, err := sqlite.Open(ctx, p.db(), sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	a := byName[p.Agent]
	eng, err := a.new(agents.Options{
		Command: p.Program, BaseURL: p.Model, Model: "modeltest", Set: a.set, Resident: a.stays,
		StateDir: filepath.Join(p.Dir, "processes"), Grace: 2 * time.Second,
	})
	if err != nil {
		return err
	}
	defer func() { _ = eng.Close() }()
	lc, err := lifecycle.New(lifecycle.Config{
		Store: s, Engine: eng, Pools: []slots.Pool{pool}, Dir: p.runs(), Poll: 50 * time.Millisecond,
		Lease:  time.Minute,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	return lc.Serve(ctx)
}

// pool is set in the store by hosts and by the world, whichever is first.
var pool = slots.Pool{Name: slots.DefaultPool, Capacity: 4}

func (p place) db() string   { return filepath.Join(p.Dir, "runs.db") }
func (p place) runs() string { return filepath.Join(p.Dir, "runs") }
