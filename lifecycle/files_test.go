package lifecycle_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/lifecycle"
	"github.com/interlude-go/interlude/store"
	"github.com/interlude-go/interlude/store/memory"
)

// N8 N11: an approval that a fork asks again has the files that its source has attached.
func TestN8AForkAsksAgainWithTheFiles(t *testing.T) {
	lc, s := serveFiles(t, t.TempDir(), writePlan)
	_, err := lc.Submit(t.Context(), lifecycle.Spec{ID: "r", Prompt: "approve"})
	require.NoError(t, err)
	from := "r"
	for _, fork := range []string{"f", "g"} { // g is a fork of a fork
		for e, err := range lc.Events(t.Context(), from, 0) {
			require.NoError(t, err)
			if e.Type == lifecycle.TypeInputRequired {
				break
			}
		}
		_, body, err := lc.ReadFile(t.Context(), from, 1, 0)
		require.NoError(t, err, from)
		require.Equal(t, "build, then test", string(body))
		_, err = lc.Reply(t.Context(), from, lifecycle.Reply{ID: 1, Decision: lifecycle.Approve})
		require.NoError(t, err)
		_, err = lc.Wait(t.Context(), from)
		require.NoError(t, err)
		_, err = lc.Fork(t.Context(), from, lifecycle.At{Question: 1, ID: fork})
		require.NoError(t, err)
		from = fork
	}
	for e, err := range lc.Events(t.Context(), "g", 0) {
		require.NoError(t, err)
		if e.Type == lifecycle.TypeInputRequired {
			break
		}
	}
	_, _, err = lc.ReadFile(t.Context(), "g", 1, 0)
	require.NoError(t, err)

	elsewhere, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: sourceless{s}, Dir: t.TempDir()})
	require.NoError(t, err)
	_, _, err = elsewhere.ReadFile(t.Context(), "f", 1, 0)
	require.ErrorIs(t, err, store.ErrUnavailable, "the source cannot be read now, and may have the file")
}

// sourceless is a store that cannot read the run r.
type sourceless struct{ *memory.Store }

func (s sourceless) Run(ctx context.Context, id string) (store.Run, error) {
	if id == "r" {
		return store.Run{}, store.ErrUnavailable
	}
	return s.Store.Run(ctx, id)
}

// attacher asks with files that it has written.
type attacher struct{ write func(artifacts string) error }

func (a attacher) turn(_ context.Context, t engine.Turn, _ engine.Sink) (engine.Outcome, error) {
	if len(t.Answers) > 0 {
		return engine.Done("ok"), nil
	}
	if err := a.write(t.ArtifactDir); err != nil {
		return engine.Outcome{}, err
	}
	files, err := t.Files("out/plan.txt")
	q := engine.Question{Prompt: "Is this right?", Files: files}
	if t.Prompt == "approve" {
		q.Kind, q.Subject = engine.Approval, &engine.Subject{Tool: "build"}
	}
	return engine.Ask(q).WithState([]byte("asked")), err
}

func serveFiles(t *testing.T, dir string, write func(artifacts string) error) (*lifecycle.Lifecycle, *memory.Store) {
	t.Helper()
	s := memory.New()
	lc, err := lifecycle.New(lifecycle.Config{Store: s, Engine: engine.Func(attacher{write}.turn), Dir: dir})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- lc.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
	})
	return lc, s
}

func writePlan(artifacts string) error {
	if err := os.Mkdir(filepath.Join(artifacts, "out"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(artifacts, "out", "plan.txt"), []byte("build, then test"), 0o600)
}

// N8: a question's file is read as it was when it was attached, after the access check of the run;
// a changed file, a link and a pipe in its place are refused, and a machine without the file says
// where it is.
func TestN8AFileIsReadAsItWasAttached(t *testing.T) {
	lc, s := serveFiles(t, t.TempDir(), writePlan)
	_, err := lc.Submit(t.Context(), lifecycle.Spec{ID: "r", Prompt: "Go."})
	require.NoError(t, err)
	for e, err := range lc.Events(t.Context(), "r", 0) {
		require.NoError(t, err)
		if e.Type == lifecycle.TypeInputRequired {
			break
		}
	}
	run, err := lc.Get(t.Context(), "r")
	require.NoError(t, err)
	require.Len(t, run.Open[0].Files.All(), 1)

	f, body, err := lc.ReadFile(t.Context(), "r", 1, 0)
	require.NoError(t, err)
	require.Equal(t, "build, then test", string(body))
	require.Equal(t, []string{"plan.txt", "text/plain"}, []string{f.Name, f.MediaType})
	for _, n := range []int{-1, 1} {
		_, _, err = lc.ReadFile(t.Context(), "r", 1, n)
		require.ErrorIs(t, err, lifecycle.ErrNotFound)
	}

	elsewhere, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: s, Dir: t.TempDir()})
	require.NoError(t, err)
	here, err := os.Hostname()
	require.NoError(t, err)
	_, _, err = elsewhere.ReadFile(t.Context(), "r", 1, 0)
	require.ErrorIs(t, err, lifecycle.ErrFileMissing)
	require.ErrorContains(t, err, "plan.txt of question 1 was attached on the machine \""+here+"\"")
	refused, err := lifecycle.NewClient(lifecycle.ClientConfig{Store: s, Authorize: func(_ context.Context,
		a lifecycle.Access) error {
		require.Contains(t, []lifecycle.Action{lifecycle.ActionView, lifecycle.ActionReply}, a.Action)
		return lifecycle.ErrNotAllowed
	}})
	require.NoError(t, err)
	_, _, err = refused.ReadFile(t.Context(), "r", 1, 0)
	require.ErrorIs(t, err, lifecycle.ErrNotAllowed)

	folder, err := lc.Folder(t.Context(), "r")
	require.NoError(t, err)
	path := filepath.Join(folder, "artifacts", "out", "plan.txt")
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("build, then test"), 0o600))
	for name, attack := range map[string]func() error{
		"another text": func() error { return os.WriteFile(path, []byte("build, then sell"), 0o600) },
		"more":         func() error { return os.WriteFile(path, []byte("build, then test it"), 0o600) },
		"less":         func() error { return os.WriteFile(path, []byte("build"), 0o600) },
		"a link":       func() error { return os.Symlink(secret, path) },
		"a folder":     func() error { return os.Mkdir(path, 0o700) },
		"a linked folder": func() error {
			return os.Symlink(filepath.Dir(secret), filepath.Join(folder, "artifacts", "out"))
		},
	} {
		require.NoError(t, os.RemoveAll(filepath.Dir(path)))
		if name != "a linked folder" {
			require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
		}
		require.NoError(t, attack())
		if name == "a linked folder" {
			require.NoError(t, os.Rename(secret, filepath.Join(filepath.Dir(secret), "plan.txt")))
		}
		_, _, err = lc.ReadFile(t.Context(), "r", 1, 0)
		require.ErrorIs(t, err, lifecycle.ErrFileChanged, name)
		if name == "a linked folder" {
			require.NoError(t, os.Rename(filepath.Join(filepath.Dir(secret), "plan.txt"), secret))
		}
	}
	require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	_, _, err = lc.ReadFile(t.Context(), "r", 1, 0)
	require.ErrorIs(t, err, lifecycle.ErrFileMissing)
}

// N8: a turn attaches only plain files of its artifacts, otherwise the run fails with the reason
// before anything is asked.
func TestN8ATurnAttachesOnlyItsArtifacts(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("key"), 0o600))
	plan := func(artifacts string) string { return filepath.Join(artifacts, "out", "plan.txt") }
	for name, write := range map[string]func(string) error{
		"missing": func(string) error { return nil },
		"a link": func(artifacts string) error {
			if err := writePlan(artifacts); err != nil {
				return err
			}
			if err := os.Remove(plan(artifacts)); err != nil {
				return err
			}
			return os.Symlink(secret, plan(artifacts))
		},
		"a linked artifacts folder": func(artifacts string) error {
			if err := os.Remove(artifacts); err != nil {
				return err
			}
			return os.Symlink(filepath.Dir(secret), artifacts)
		},
		"too large": func(artifacts string) error {
			if err := writePlan(artifacts); err != nil {
				return err
			}
			return os.Truncate(plan(artifacts), 1<<40)
		},
	} {
		t.Run(name, func(t *testing.T) {
			lc, _ := serveFiles(t, t.TempDir(), write)
			_, err := lc.Submit(t.Context(), lifecycle.Spec{ID: "r", Prompt: "Go."})
			require.NoError(t, err)
			run, err := lc.Wait(t.Context(), "r")
			require.NoError(t, err)
			require.Equal(t, lifecycle.StateFailed, run.State)
			require.Contains(t, run.Error.Message, "engine: files: ")
			require.Zero(t, run.Interactions)
		})
	}
}
