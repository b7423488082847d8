// Package page has the files that package web serves at its prefix.
//
// Its assets/characters.js is the table of package interaction; package gen writes it.
package page

import (
	"embed"
	"io/fs"
)

//go:generate go run ./gen

//go:embed assets
var assets embed.FS

// Files are served as they are, index.html at the prefix itself. Their links are relative, so that
// the prefix may be any.
var Files = func() fs.FS {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the folder was embedded
	}
	return files
}()
