//go:build unix

package agentstest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Remember asks the program each of the questions, --version say, and writes a program into the
// folder that knows the answers by heart and passes on all else. Tests make dozens of engines, each
// of which asks them, and some programs take seconds to say anything.
func Remember(tb testing.TB, dir, program string, questions ...string) string {
	tb.Helper()
	home := tb.TempDir()
	var script strings.Builder
	script.WriteString("#!/bin/sh\ncase \"$*\" in\n")
	for i, q := range questions {
		ask := exec.CommandContext(tb.Context(), program, q)
		ask.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
		answer, err := ask.CombinedOutput() // some write their help to the error output
		if err != nil {
			tb.Fatalf("%s %s: %v: %s", program, q, err, answer)
		}
		file := filepath.Join(dir, fmt.Sprintf("%s-%d", filepath.Base(program), i))
		if err := os.WriteFile(file, answer, 0o600); err != nil {
			tb.Fatal(err)
		}
		script.WriteString(q + ") exec cat '" + file + "' ;;\n")
	}
	script.WriteString("*) exec '" + program + "' \"$@\" ;;\nesac\n")
	path := filepath.Join(dir, filepath.Base(program))
	if err := os.WriteFile(path, []byte(script.String()), 0o700); err != nil {
		tb.Fatal(err)
	}
	return path
}
