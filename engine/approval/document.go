package approval

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/plainfile"
)

// Document is an artifact of the run with the full text of a question that shows only a part of
// it. The agent can also write to the artifact, so a decision holds only for the text with this
// digest.
type Document struct {
	Name string `json:"name"`
	Sum  string `json:"sum"` // SHA-256
}

const maxDocument = 256 << 20

// Write writes a new document into the folder. Its name begins with prefix.
func Write(dir, prefix, text string) (*Document, error) {
	if dir == "" {
		return nil, errors.New("approval: the run has no folder for artifacts")
	}
	if len(text) > maxDocument {
		return nil, fmt.Errorf("approval: %d bytes are too many for a document: want at most %d", len(text),
			maxDocument)
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

// Fit shortens a question's context to interaction.MaxContext. A longer context is written to a
// document; the question shows its beginning and its end, the size of the rest, and the document's
// name. The document is nil if the context was short enough.
func Fit(q interaction.Question, dir, prefix string) (interaction.Question, *Document, error) {
	if len(q.Context) <= interaction.MaxContext {
		return q, nil, nil
	}
	d, err := Write(dir, prefix, q.Context)
	if err != nil {
		return q, nil, err
	}
	note := d.Note(len(q.Context))
	q.Context, _ = Cut(q.Context, interaction.MaxContext-len(note))
	q.Context = note + q.Context
	return q, d, nil
}

func (d *Document) Note(size int) string {
	return fmt.Sprintf("This is not all of it: all %d bytes are in the artifact %s (SHA-256 %s). Read it before you "+
		"allow this: the decision holds for all of it.\n",
		size, d.Name, d.Sum)
}

func (d *Document) Intact(dir string) bool {
	body, err := plainfile.Read(dir, d.Name, maxDocument)
	return err == nil && sum(body) == d.Sum
}

func sum(body []byte) string {
	h := sha256.Sum256(body)
	return hex.EncodeToString(h[:])
}
