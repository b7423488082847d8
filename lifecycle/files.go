package lifecycle

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/interlude-go/interlude/internal/plainfile"
)

// Errors of Client.ReadFile and OpenTurnLog, for errors.Is.
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

// MaxTurnLogs limits the logs that Client.TurnLogs returns.
const MaxTurnLogs = 1000

// TurnLog is a log that an engine has written during a turn. It grows while the turn is executed.
type TurnLog struct {
	Attempt int
	// Stream is "out" for the agent's output, and "err" for its error output.
	Stream string
	Size   int64 // in bytes
	// ChangedAt is when it was last written, by the clock of the machine that has it.
	ChangedAt time.Time
}

var logName = regexp.MustCompile(`^attempt-([1-9][0-9]{0,8})\.(out|err)$`)

// TurnLogs lists the logs of the run's turns that are on this machine: the newest MaxTurnLogs, by
// attempt. The caller needs the right to view the run. ErrFileMissing: the run's folder is not on this
// machine. A run whose engine writes no logs has none.
func (c *Client) TurnLogs(ctx context.Context, id string) ([]TurnLog, error) {
	dir, err := c.transcripts(ctx, id)
	if err != nil {
		return nil, err
	}
	root, err := plainfile.Root(dir)
	if err != nil {
		return nil, missingLog(err)
	}
	defer func() { _ = root.Close() }() // it was only read
	folder, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = folder.Close() }()
	var all []TurnLog
	for {
		entries, err := folder.ReadDir(MaxTurnLogs)
		for _, entry := range entries {
			info, err := entry.Info()
			if name := logName.FindStringSubmatch(entry.Name()); name != nil && err == nil && info.Mode().IsRegular() {
				attempt, _ := strconv.Atoi(name[1])
				all = append(all, TurnLog{attempt, name[2], info.Size(), info.ModTime()})
			}
		}
		slices.SortFunc(all, func(a, b TurnLog) int {
			return cmp.Or(cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(b.Stream, a.Stream))
		})
		all = all[max(0, len(all)-MaxTurnLogs):]
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// OpenTurnLog opens a log for reading; the caller closes it. The engine has redacted the values of
// secrets, but the text is the agent's. Errors: as for TurnLogs, and ErrFileMissing for a log that is
// not on this machine.
func (c *Client) OpenTurnLog(ctx context.Context, id string, attempt int, stream string) (*os.File, error) {
	name := fmt.Sprintf("attempt-%d.%s", attempt, stream)
	if !logName.MatchString(name) {
		return nil, &ArgumentError{"stream", quote(name), "out or err of an attempt from 1", nil}
	}
	dir, err := c.transcripts(ctx, id)
	if err != nil {
		return nil, err
	}
	f, err := plainfile.OpenBelow(dir, name)
	return f, missingLog(err)
}

// transcripts returns the folder of the run's logs.
func (c *Client) transcripts(ctx context.Context, id string) (string, error) {
	run, err := c.Get(ctx, id)
	if err != nil {
		return "", err
	}
	if c.folders.Dir == "" {
		return "", missingLog(fs.ErrNotExist)
	}
	base, owned, err := c.folders.Of(&run)
	if err == nil && !owned {
		err = missingLog(fs.ErrNotExist)
	}
	return filepath.Join(base, "transcripts"), err
}

func missingLog(err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	here, _ := os.Hostname()
	return fmt.Errorf("%w: the machine that executed the turn has the log, and this is %q", ErrFileMissing, here)
}
