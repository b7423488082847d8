package enginetest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine"
	"github.com/interlude-go/interlude/fsm"
	"github.com/interlude-go/interlude/interaction"
	"github.com/interlude-go/interlude/internal/procid"
)

// processes: cases that need an agent in a process.
var processes = []scene{
	{name: "I6: cancel ends the whole process group, also processes that ignore TERM", applies: isProgram,
		play: func(w *world) {
			r := w.newRun("r1")
			g := r.startUntil("begun", "ignoreterm", "pid self", "spawn child", "touch begun", "hang")
			g.cancel(engine.ErrCanceled)
			require.NotEqual(w, engine.OK, g.finish().Process.Status)
			r.gone("self", "child")
		}},
	{name: "I6: cancel also ends a process that left the group and holds the output open",
		applies: both(isProgram, onLinux),
		play: func(w *world) {
			r := w.newRun("r1")
			g := r.startUntil("begun", "pid self", "detach astray", "touch begun", "hang")
			g.cancel(engine.ErrCanceled)
			require.NotEqual(w, engine.OK, g.finish().Process.Status)
			r.gone("self", "astray")
		}},
	{name: "I2: an attempt that is no longer the run's leaves no process", applies: isProgram, play: func(w *world) {
		r := w.newRun("r1")
		g := r.startUntil("begun", "pid self", "spawn child", "touch begun", "await go", "say one", "say two",
			"say three",
			"hang")
		r.Refuse(engine.ErrStale)
		r.touch("go")
		g.finish()
		r.gone("self", "child")
	}},
	{name: "a turn that ends well leaves nothing in its group", applies: both(isProgram, isResumable),
		play: func(w *world) {
			r := w.newRun("r1")
			o := r.do("pid self", "spawn child", "final ok")
			require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
			r.gone("self", "child")
		}},
	{name: "B1: a process that exits with a failure has failed, and one that is killed was interrupted, whatever it " +
		"said; its error output says why", applies: isProgram, play: func(w *world) {
		for id, last := range map[string]string{"killed": "crash", "exits": "exit 3"} {
			r := w.newRun(id)
			o, err := r.execute(w.ctx, Script("done all is well", "stderr out of paper", last))
			require.NoError(w, err)
			require.NotEmpty(w, o.Process.Code)
			require.Contains(w, o.Process.Detail, "out of paper")
			if last == "crash" { // E4: repeats a repeatable run
				require.Equal(w, engine.Interrupted, o.Process.Status)
				continue
			}
			require.Equal(w, engine.Failed, o.Process.Status)
			require.Equal(w, 3, o.Process.ExitCode)
		}
	}},
	{name: "I11: a line of 10 MB is skipped, with a diagnostic", applies: isProgram, play: func(w *world) {
		o := w.newRun("r1").do("long 10485760", "final still here")
		require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
		require.Equal(w, "still here", o.FinalText)
		require.True(w, warned(o, fsm.WarnEngineOutputTruncated), "%v", o.Diagnostics)
	}},
	{name: "I11: UTF-8 that is split across pieces of output survives", applies: isProgram, play: func(w *world) {
		o := w.newRun("r1").do(`raw "{\"type\":\"final\",\"text\":\"f\xc3"`, "pid pause", `raw "\xb6x \xf0\x9f"`,
			"pid pause", `raw "\x8e\x88\"}\n"`)
		require.Equal(w, "föx 🎈", o.FinalText)
		require.False(w, warned(o, fsm.WarnEngineOutputInvalidUTF8))
	}},
	{name: "I11: broken UTF-8 is replaced, with a diagnostic", applies: isProgram, play: func(w *world) {
		o := w.newRun("r1").do(`raw "{\"type\":\"final\",\"text\":\"f\xff\xfex\"}\n"`)
		require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
		require.Regexp(w, "^f\uFFFD+x$", o.FinalText)
		require.True(w, warned(o, fsm.WarnEngineOutputInvalidUTF8), "%v", o.Diagnostics)
	}},
	{name: "I11: broken JSON is skipped, with a bounded number of diagnostics", applies: isProgram,
		play: func(w *world) {
			o := w.newRun("r1").do("raw "+quoted(strings.Repeat("{\"type\": oops\nnull\n[1]\n\n", 500)),
				"final still here")
			require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
			require.Equal(w, "still here", o.FinalText)
			require.True(w, warned(o, fsm.WarnEngineOutputMalformed), "%v", o.Diagnostics)
			require.Less(w, len(o.Diagnostics), 50)
		}},
	{name: "J11: a pipe, a link or a folder in the place of a transcript blocks no one, and nothing is written " +
		"elsewhere", applies: isProgram, play: func(w *world) {
		victim := filepath.Join(w.dir, "victim")
		require.NoError(w, os.WriteFile(victim, []byte("theirs"), 0o600))
		for id, plant := range map[string]func(path string) error{
			"pipe": pipe, "linked": func(path string) error { return os.Symlink(victim, path) },
			"named": func(path string) error {
				return os.Link(victim, path)
			}, "folder": func(path string) error { return os.Mkdir(path, 0o700) },
		} {
			for _, kind := range []string{"out", "err"} {
				r := w.newRun(id + "-" + kind)
				require.NoError(w, plant(filepath.Join(r.turn.TranscriptDir, "attempt-1."+kind)))
				g := r.start("stderr mine", "final mine")
				g.finish() // an engine without transcripts continues
				body, err := os.ReadFile(victim)
				require.NoError(w, err)
				require.Equal(w, "theirs", string(body))
				if g.err != nil {
					require.ErrorContains(w, g.err, "attempt-1."+kind)
				}
			}
		}
	}},
	{name: "the agent sees only the named variables of the host", applies: isProgram,
		play: func(w *world) {
			w.setenv("INTERLUDE_TEST_SECRET", "hunter2")
			o := w.newRun("r1").do("args")
			require.NotContains(w, o.FinalText, "hunter2")
		}},
	{name: "J11: temporary files are removed with their process, and no two processes share a folder",
		applies: isProgram, play: func(w *world) {
			r := w.newRun("r1")
			seen := map[string]bool{os.TempDir(): true}
			for _, file := range []string{"first", "second"} {
				o := r.do("temporary "+file, "ask More?")
				require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
				if resident, ok := w.engine.(engine.Resident); ok {
					require.NoError(w, resident.End(w.ctx, r.turn.RunID))
				}
				path, err := os.ReadFile(filepath.Join(r.turn.ArtifactDir, file))
				require.NoError(w, err)
				require.NoDirExists(w, string(path))
				require.False(w, seen[string(path)], "%s", path)
				seen[string(path)] = true
				if isResident(w) {
					return // the run has lost its process
				}
			}
		}},
	{name: "H3: the agent works in the run's folder", applies: isProgram, play: func(w *world) {
		r := w.newRun("r1")
		r.do("final ok")
		entries, err := os.ReadDir(r.turn.WorkDir)
		require.NoError(w, err)
		require.NotEmpty(w, entries, "the agent keeps its session in its working folder")
	}},
	{name: "B4: a done marker that a tool echoed is not the agent's", applies: isProgram, play: func(w *world) {
		o := w.newRun("r1").do("tool "+interaction.DoneMarker, "final I only ran it", `tool {"`+interaction.DoneMarker+
			`":true}`)
		require.Equal(w, engine.OK, o.Process.Status, o.Process.Detail)
		require.Equal(w, "I only ran it", o.FinalText)
		require.False(w, interaction.Read(o.FinalText, o.Output).Done)
	}},
	{name: "E7: reaping a run that left nothing does nothing", real: true, play: func(w *world) {
		if r, ok := w.engine.(engine.Reaper); ok { // an optional ability
			require.NoError(w, r.Reap(w.ctx, "never-seen"))
			run := w.newRun("r1")
			run.do("final ok")
			require.NoError(w, r.Reap(w.ctx, run.turn.RunID))
		}
	}},
}

// LeaveTemporary is the step "temporary NAME" of a scripted program: it creates a temporary file
// and stores its path in the artifact NAME.
func LeaveTemporary(artifacts, name string) error {
	dir := os.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "scrap"), nil, 0o600); err != nil {
		return err
	}
	return touch(artifacts, name, dir)
}

func onLinux(*world) bool { return runtime.GOOS == "linux" }

func warned(o engine.Outcome, code fsm.Warning) bool {
	for _, d := range o.Diagnostics {
		if d.Code == code {
			return true
		}
	}
	return false
}

func quoted(s string) string {
	body, _ := json.Marshal(s) // a JSON string is a Go literal, too
	return string(body)
}

// setenv sets a variable of the host until the case ends.
func (w *world) setenv(name, value string) {
	if t, ok := w.TB.(interface{ Setenv(name, value string) }); ok {
		t.Setenv(name, value)
	}
}

// gone waits until the processes named in the files have ended: after the turn's signal, the kernel
// needs a moment.
func (r *run) gone(files ...string) {
	r.Helper()
	for _, file := range files {
		r.goneAre(r.pid(file))
	}
}

func (r *run) goneAre(pids ...int) {
	r.Helper()
	for _, pid := range pids {
		require.Eventually(r, func() bool { return ended(pid) }, r.Patience, pause, "process %d is left", pid)
	}
}

// kill sends SIGKILL.
func (r *run) kill(pid int) {
	r.Helper()
	p, err := os.FindProcess(pid)
	require.NoError(r, err)
	require.NoError(r, p.Kill())
}

// ended reports whether the process has ended; a zombie has.
func ended(pid int) bool {
	if runtime.GOOS == "linux" {
		_, err := procid.Of(pid)
		return errors.Is(err, os.ErrNotExist)
	}
	p, err := os.FindProcess(pid)
	return err != nil || p.Signal(syscall.Signal(0)) != nil
}
