package approval

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/interlude-go/interlude/internal/plainfile"
)

// Document is a file that has all of what a question can show only a part of. It is kept where the person finds it, among the artifacts of the
// run; the agent can write there too, so that its digest binds the decision.
type Document struct {
	Name string `json:"name"`
	Sum  string `json:"sum"` // SHA-256
}

// maxDocument is how large a document may be, in bytes.
const maxDocument = 256 << 20

// Keep writes a new document into the folder, whose name begins with prefix.
func Keep(dir, prefix, text string) (*Document, error) {
	if dir == "" {
		return nil, errors.New("approval: the run has no folder for artifacts")
	}
	if len(text) > maxDocument {
		return nil, fmt.Errorf("approval: %d bytes are too many for a document: want at most %d", len(text), maxDocument)
	}
	root, err := plainfile.Root(dir)
	if err != nil {
		return nil, fmt.Errorf("approval: %w", err)
	}
	defer func() { _ = root.Close() }() // an open file stays open
	d := &Document{Name: prefix + "-" + rand.Text()[:8] + ".txt", Sum: sum([]byte(text))}
	f, err := root.OpenFile(d.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("approval: %w", err)
	}
	_, err = f.WriteString(text)
	return d, errors.Join(err, f.Close())
}

// Intact reports whether the document is as it was written.
func (d *Document) Intact(dir string) bool {
	body, err := plainfile.Read(dir, d.Name, maxDocument)
	return err == nil && sum(body) == d.Sum
}

func sum(body []byte) string {
	h := sha256.Sum256(body)
	return hex.EncodeToString(h[:])
}
