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

// embedded is the contract that this program was built with, for readers inside the package that do
// not change it.
var embedded = sync.OnceValue(Load)

// Version returns the version of the contract that this program was built with. A run records the
// one it was made under.
func Version() string { return embedded().Version }

// Source returns the bytes of lifecycle.json. They are the caller's.
func Source() []byte { return bytes.Clone(source) }

// Load returns the contract that this program was built with. It is a fresh copy, the caller's to
// change.
func Load() *Lifecycle {
	l := new(Lifecycle)
	// what does not parse cannot be committed: the package's first test parses it
	if err := decodeStrict(source, l); err != nil {
		panic(err)
	}
	return l
}
