package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
)

// gremlinsReport is the part of gremlins' report that is read here.
type gremlinsReport struct {
	Files []struct {
		Name      string `json:"file_name"`
		Mutations []struct {
			Kind   string `json:"type"`
			Status status `json:"status"`
			Line   int    `json:"line"`
			Column int    `json:"column"`
		} `json:"mutations"`
	} `json:"files"`
}

// readReport reads the mutants of a package from the report of gremlins. The function read returns
// the text of a file of the package. Untried: gremlins only had to find the mutants.
func readReport(report []byte, read func(file string) ([]byte, error), untried bool) ([]mutant, error) {
	var r gremlinsReport
	if err := json.Unmarshal(report, &r); err != nil {
		return nil, fmt.Errorf("reading the report of gremlins: %w", err)
	}
	var all []mutant
	for _, f := range r.Files {
		file := filepath.Base(f.Name) // the path begins at the module or at the package
		text, err := read(file)
		if err != nil {
			return nil, err
		}
		for _, g := range f.Mutations {
			m := mutant{file: file, line: g.Line, column: g.Column, kind: g.Kind, status: g.Status}
			switch m.status {
			case killed, lived, timedOut, notCovered, notViable:
			default:
				if untried && m.status == runnable {
					break
				}
				return nil, fmt.Errorf("%s:%d: a mutant is %q: gremlins did not try it", file, g.Line, g.Status)
			}
			if err := m.apply(text); err != nil {
				return nil, err
			}
			all = append(all, m)
		}
	}
	return all, nil
}
