package main

import (
	"embed"
	"io/fs"
)

//go:embed skill
var bundled embed.FS

// skillFolder is the skill that comes with the example.
func skillFolder() fs.FS {
	folder, err := fs.Sub(bundled, "skill")
	if err != nil {
		panic(err)
	}
	return folder
}
