package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/plainfile"
)

// Files describes files below the turn's ArtifactDir for Question.Files. The paths have slashes;
// the last part of each is its name. The media type follows from the name's extension. A file is at
// most MaxFileSize bytes, and a link, a missing or an invalid file is an error.
//
// People get the files as they are now: a file that changes later is no longer served.
func (t Turn) Files(paths ...string) (*Files, error) {
	if t.ArtifactDir == "" {
		return nil, errors.New("engine: files: the run has no folders: configure a folder for runs")
	}
	host, _ := os.Hostname() // only for messages
	files := &Files{Host: host}
	for i, p := range paths {
		if i == interaction.MaxFiles {
			break // Validate reports it
		}
		f := File{Name: path.Base(p), Path: p, SHA256: strings.Repeat("0", 2*sha256.Size),
			MediaType: cmp.Or(mediaTypes[strings.ToLower(path.Ext(p))], "application/octet-stream")}
		if err := (&Files{List: []File{f}}).Validate(); err != nil { // before the path is used
			return nil, fmt.Errorf("engine: files: %w", err)
		}
		body, err := plainfile.ReadBelow(t.ArtifactDir, filepath.FromSlash(p), interaction.MaxFileSize)
		if err != nil {
			return nil, fmt.Errorf("engine: files: %w", err)
		}
		sum := sha256.Sum256(body)
		f.Size, f.SHA256 = int64(len(body)), hex.EncodeToString(sum[:])
		files.List = append(files.List, f)
	}
	if len(paths) > interaction.MaxFiles {
		return nil, fmt.Errorf("engine: files: %d files, want at most %d", len(paths), interaction.MaxFiles)
	}
	if err := files.Validate(); err != nil {
		return nil, fmt.Errorf("engine: files: %w", err)
	}
	return files, nil
}

// mediaTypes by extension. The machine's own tables differ between nodes.
var mediaTypes = map[string]string{".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg",
	".gif": "image/gif", ".webp": "image/webp", ".svg": "image/svg+xml", ".txt": "text/plain", ".log": "text/plain",
	".md": "text/markdown", ".csv": "text/csv", ".diff": "text/plain", ".patch": "text/plain",
	".json": "application/json",
	".yaml": "text/plain", ".yml": "text/plain", ".sql": "text/plain", ".go": "text/plain", ".html": "text/html",
	".pdf": "application/pdf", ".zip": "application/zip"}
