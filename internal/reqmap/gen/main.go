// Gen writes docs/internals/requirements.md.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/interlude-go/interlude/internal/reqmap"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	root, err := reqmap.Root()
	if err != nil {
		return err
	}
	m, err := reqmap.Scan(root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "docs", "internals", "requirements.md"), reqmap.Render(m), 0o644)
}
