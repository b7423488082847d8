package contract

import (
	"bytes"
	_ "embed"
	"sync"
)

//go:generate go run ./gen

//go:embed lifecycle.json
var source []byte

//go:embed lifecycle.schema.json
var metaSchema []byte

// embedded is this program's contract, for readers inside the package that do not change it.
var embedded = sync.OnceValue(Load)

// Version returns the version of this program's contract. A run records the one that it was made
// under.
func Version() string { return embedded().Version }

// Source returns the bytes of lifecycle.json, which the caller owns.
func Source() []byte { return bytes.Clone(source) }

// Load returns a fresh copy of this program's contract, which the caller owns.
func Load() *Lifecycle {
	l := new(Lifecycle)
	// what does not parse cannot be committed: the first test of the package parses it
	if err := decodeStrict(source, l); err != nil {
		panic(err)
	}
	return l
}
