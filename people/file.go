package people

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/interlude-go/interlude/interaction"
)

// Limits of a file.
const (
	MaxFile     = 4 << 20 // bytes
	MaxDeputies = 32      // of one person
)

// File is a Directory in a file of YAML or JSON:
//
//	people:
//	  - id: ann
//	    name: Ann Lee
//	    groups: [finance]
//	    addresses: {mail: ann@example.com}
//	    deputies:
//	      - {id: bob, from: 2026-12-01, until: 2026-12-14}
//
// A time is a day in UTC, or RFC 3339; the day in until is included. A changed file is read again at
// the next call. If it has an error, the previous content stays in use, and the error is logged once
// per change; deputyships still end at their times. It is safe for concurrent use.
type File struct {
	name string
	log  *slog.Logger

	mu      sync.Mutex // guards the fields below
	changed version    // of the file as last read
	content *content   // replaced, never changed
}

type version struct {
	bytes int64
	at    time.Time
}

// Open reads the file. Its errors name the line or the person. A nil logger is slog.Default.
func Open(name string, log *slog.Logger) (*File, error) {
	if log == nil {
		log = slog.Default()
	}
	f := &File{name: name, log: log}
	var err error
	f.content, f.changed, err = readFile(name)
	return f, err
}

// current returns the content, after a changed file was read.
func (f *File) current() *content {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.name)
	if err == nil && f.changed == (version{info.Size(), info.ModTime()}) {
		return f.content
	}
	read, changed, err := readFile(f.name)
	if changed == f.changed && err != nil { // logged before
		return f.content
	}
	if f.changed = changed; err != nil {
		f.log.Error("the directory has an error; its previous content stays in use", "error", err)
		return f.content
	}
	f.content = read
	return read
}

// Person returns the person with this ID, or ErrUnknown.
func (f *File) Person(_ context.Context, id string) (Person, error) { return f.current().person(id) }

// Member reports whether the file lists the person (lifecycle.Members).
func (f *File) Member(_ context.Context, id string) (bool, error) {
	return f.current().people[id] != nil, nil
}

// Principals returns the people whose deputy the person is at that time, by ID.
func (f *File) Principals(_ context.Context, id string, at time.Time) ([]interaction.Principal, error) {
	return f.current().principals(id, at), nil
}

// Deputies returns the IDs of the person's deputies at that time.
func (f *File) Deputies(_ context.Context, id string, at time.Time) ([]string, error) {
	return f.current().deputies(id, at), nil
}

// People lists people whose ID, or a word of whose name, begins with the prefix.
func (f *File) People(_ context.Context, prefix, after string, limit int) ([]Person, error) {
	return f.current().list(prefix, after, limit), nil
}

// Groups lists groups of which a word begins with the prefix (Grouped).
func (f *File) Groups(_ context.Context, prefix string, limit int) ([]string, error) {
	return f.current().listGroups(prefix, limit), nil
}

func readFile(name string) (*content, version, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, version{}, fmt.Errorf("people: %w", err)
	}
	defer file.Close()
	var changed version
	if info, err := file.Stat(); err == nil {
		changed = version{info.Size(), info.ModTime()}
	}
	body, err := io.ReadAll(io.LimitReader(file, MaxFile+1))
	if err == nil && len(body) > MaxFile {
		err = errors.New("larger than 4 MiB")
	}
	if err != nil {
		return nil, changed, fmt.Errorf("people: %s: %w", name, err)
	}
	read, err := parse(body)
	if err != nil {
		return nil, changed, fmt.Errorf("people: %s: %w", name, err)
	}
	return read, changed, nil
}

func parse(body []byte) (*content, error) {
	var file struct {
		People []*row `yaml:"people"`
	}
	in := yaml.NewDecoder(bytes.NewReader(body))
	in.KnownFields(true)
	if err := in.Decode(&file); err != nil {
		return nil, err
	}
	for i, r := range file.People {
		if r == nil || r.ID == "" {
			return nil, fmt.Errorf("people[%d] has no id", i)
		}
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("person %.80q: %w", r.ID, err)
		}
	}
	return newContent(file.People)
}
