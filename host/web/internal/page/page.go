// Package page has the files that package web serves at its prefix.
//
// Package gen generates assets/characters.js from the table of package interaction.
package page

import (
	"embed"
	"io/fs"
)

//go:generate go run ./gen

//go:embed assets
var assets embed.FS

// Files has index.html and the files that it links to. Links are relative, so any prefix works.
var Files = func() fs.FS {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // an embedded folder
	}
	return files
}()
