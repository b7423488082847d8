// Command gen writes what is generated from contract/lifecycle.json: package fsm's tables and
// configuration of the state machine, and the diagram and tables in contract/README.md. Run it with
//
//	go generate ./...
//
// Its test generates in memory and fails when a committed file differs.
package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"github.com/interlude-go/interlude/contract"
)

// readme is the only partly generated file; the text outside of its markers is written by hand.
const readme = "contract/README.md"

func main() {
	// go generate runs in contract/.
	if err := run(".."); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// run generates into the module at root. It reads lifecycle.json from there, not the embedded copy,
// so that one run is enough after a change.
func run(root string) error {
	files, err := generate(root)
	if err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
			continue
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return nil
}

// generate returns the files by their slash-separated names below root.
func generate(root string) (map[string][]byte, error) {
	raw, err := os.ReadFile(filepath.Join(root, "contract", "lifecycle.json"))
	if err != nil {
		return nil, fmt.Errorf("reading the contract: %w", err)
	}
	l, err := contract.Parse(raw)
	if err != nil {
		return nil, fmt.Errorf("reading the contract: %w", err)
	}
	page, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(readme)))
	if err != nil {
		return nil, fmt.Errorf("reading the page to fill: %w", err)
	}
	hash := fmt.Sprintf("%x", sha256.Sum256(raw))[:8]
	files, err := render(l, hash)
	if err != nil {
		return nil, err
	}
	if files["contract/fcmp/payloads.gen.go"], err = payloads(l, hash); err != nil {
		return nil, err
	}
	if files[readme], err = fill(page, files[readme]); err != nil {
		return nil, err
	}
	return files, nil
}
