// Package page has the files that package web serves at its prefix.
package page

import (
	"embed"
	"io/fs"
)

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
