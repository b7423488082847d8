package contract

import (
	_ "embed"
	"encoding/json"
	"sync"
)

//go:embed lifecycle.json
var source []byte

// Version returns the version of the contract that this program was built with. A run records the one it was made under.
func Version() string { return version() }

var version = sync.OnceValue(func() string {
	var head struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(source, &head); err != nil {
		panic(err)
	}
	return head.Version
})
