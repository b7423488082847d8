package lifecycle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/interlude-go/interlude/internal/plainfile"
)

// Errors of Client.ReadFile, for errors.Is.
var (
	// ErrFileMissing: the file is not on this machine; the error says where it was attached.
	ErrFileMissing = errors.New("lifecycle: the file is not on this machine")
	// ErrFileChanged: the content differs from the attached content.
	ErrFileChanged = errors.New("lifecycle: the file has changed since the question was asked")
)

// ReadFile reads a file of a question (Question.Files) by its number in the list, from 0. Its size
// and SHA-256 equal the values in the question. The caller needs the right to view the run. A
// question that a fork repeats has the files of its source, while the source's folder exists.
//
// Errors: as for Question, ErrNotFound for a number that the question does not have,
// ErrFileMissing, and ErrFileChanged. The file is at most MaxFileSize bytes; callers bound the
// number of concurrent calls.
func (c *Client) ReadFile(ctx context.Context, id string, question, number int) (File, []byte, error) {
	record, err := c.Question(ctx, id, question)
	if err != nil {
		return File{}, nil, err
	}
	files := record.Question.Files.All()
	if number < 0 || number >= len(files) {
		return File{}, nil, fmt.Errorf("%w: question %d has %d files, and no number %s", ErrNotFound, question,
			len(files), strconv.Itoa(number))
	}
	f := files[number]
	run, err := c.proc.Store.Run(ctx, id)
	if err != nil {
		return File{}, nil, err
	}
	missing := func() error {
		here, _ := os.Hostname()
		return fmt.Errorf("%w: %s of question %d was attached on the machine %q, and this is %q", ErrFileMissing,
			f.Name, question, record.Question.Files.Host, here)
	}
	body, err := c.readAttached(&run, &f)
	for range maxSources {
		if err == nil || run.ForkedFrom == nil {
			break
		}
		source, unread := c.proc.Store.Run(ctx, run.ForkedFrom.RunID)
		if errors.Is(unread, ErrNotFound) { // the run was pruned
			break
		}
		if unread != nil {
			return f, nil, unread
		}
		if found, failed := c.readAttached(&source, &f); failed == nil {
			body, err = found, nil
		}
		run = source
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil, missing()
	case errors.Is(err, ErrFileChanged):
		return f, nil, fmt.Errorf("%w: %s of question %d", ErrFileChanged, f.Name, question)
	case err != nil:
		return f, nil, err
	}
	return f, body, nil
}

// maxSources limits how many ancestors of a fork are searched for a file: its source, the
// source's source, and so on.
const maxSources = 16

// readAttached reads a file in a run's folder: fs.ErrNotExist, or ErrFileChanged for another content.
func (c *Client) readAttached(run *Run, f *File) ([]byte, error) {
	if c.folders.Dir == "" {
		return nil, fs.ErrNotExist
	}
	base, owned, err := c.folders.Of(run)
	switch {
	case err != nil:
		return nil, err
	case !owned:
		return nil, fs.ErrNotExist
	}
	body, err := plainfile.ReadBelow(filepath.Join(base, "artifacts"), filepath.FromSlash(f.Path), f.Size)
	switch sum := sha256.Sum256(body); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fs.ErrNotExist
	case err != nil || int64(len(body)) != f.Size || hex.EncodeToString(sum[:]) != f.SHA256:
		return nil, ErrFileChanged
	}
	return body, nil
}
