// Package agentstest finds real agents for tests, always in the same places.
//
// Related packages: .ci/agents.sh installs the agents; engine/modeltest is their model.
package agentstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// envFolder names the folder in which .ci/agents.sh installed the agents, by default .tools/agents
// of the repository. The variable envFolder_NAME, for example INTERLUDE_AGENTS_CLAUDE, names the
// program of one agent.
const envFolder = "INTERLUDE_AGENTS"

// Program is the program of the agent: codex, claude, gemini, opencode or qwen. If it is missing,
// the test fails in CI (variable CI) and is skipped elsewhere, with a line that says what to do.
func Program(tb testing.TB, name string) string {
	tb.Helper()
	if path, ok := find(name); ok {
		return path
	}
	missing := "the agent " + name + " is missing: name its program in " + variable(name)
	if name != byHand {
		missing += ", or run .ci/agents.sh, which needs npm"
		if os.Getenv("CI") != "" {
			tb.Fatal(missing)
		}
	}
	tb.Skip(missing)
	return ""
}

func only(names []string, accepts func(name string) bool) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !accepts(name) })
}

// byHand is an agent that CI has no permission to install. It is tested only if its program is
// named.
const byHand = "claude"

func variable(name string) string { return envFolder + "_" + strings.ToUpper(name) }

// find looks for the agent's program. A manually installed agent must be named.
func find(name string) (string, bool) {
	if path := os.Getenv(variable(name)); path != "" || name == byHand {
		return path, path != ""
	}
	folders := []string{os.Getenv(envFolder)}
	if root, ok := repository(); ok {
		folders = append(folders, filepath.Join(root, ".tools", "agents"))
	}
	for _, folder := range folders {
		path := filepath.Join(folder, name, "node_modules", ".bin", name)
		if _, err := os.Stat(path); folder != "" && err == nil {
			return path, true
		}
	}
	path, err := exec.LookPath(name)
	return path, err == nil
}

// repository is the folder of the workspace that the test is part of.
func repository() (string, bool) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, true
		}
		if filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	return "", false
}
