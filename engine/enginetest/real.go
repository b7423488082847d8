package enginetest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/engine/modeltest"
	"github.com/interlude-go/interlude/engine/process"
)

// isAlone: the engine keeps nothing of a run in its memory, since the agent is another process, or
// goes on from the journal.
func isAlone(w *world) bool { return w.Program || w.Model != nil || w.Journal }

// isSeen: the agent's process can be known from outside.
func isSeen(w *world) bool { return w.Program || w.Model != nil && onLinux(w) }

// naming are the steps of a turn, of which the process is wanted: a program makes the file that
// names it.
func (r *run) naming(file string, steps ...string) []string {
	if r.Program {
		return append([]string{"pid " + file}, steps...)
	}
	return steps
}

// named is the process of the turn that was given the name; a real agent's is looked for now.
func (r *run) named(file string) int {
	r.Helper()
	if r.Program {
		return r.pid(file)
	}
	var children []int
	for _, pid := range r.processes() {
		if parent(pid) == os.Getpid() {
			children = append(children, pid)
		}
	}
	require.Len(r, children, 1, "the agent's process")
	return children[0]
}

// processes are those of the run: they carry its id, or work in its folder.
func (r *run) processes() []int {
	names, _ := filepath.Glob("/proc/[0-9]*")
	mark := []byte("\x00" + process.EnvRun + "=" + r.turn.RunID + "\x00")
	var all []int
	for _, name := range names {
		env, _ := os.ReadFile(filepath.Join(name, "environ")) // another's, or it has ended
		cwd, _ := os.Readlink(filepath.Join(name, "cwd"))
		if !bytes.Contains(append([]byte{0}, env...), mark) && cwd != r.turn.WorkDir {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(name)); err == nil && pid != os.Getpid() && !ended(pid) {
			all = append(all, pid)
		}
	}
	return all
}

// parent is the process that started this one, 0 when that is not known.
func parent(pid int) int {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')'):]), " ") // a name may hold anything
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(fields[1])
	return n
}

// nothingLeft says that the case's runs have no process any more, when their engine is closed.
func (w *world) nothingLeft() {
	w.Helper()
	if !onLinux(w) {
		return
	}
	for _, r := range w.runs {
		require.Eventually(w, func() bool {
			return len(r.processes()) == 0
		}, w.Patience, pause, "processes of %s are left", r.turn.RunID)
	}
}

// lastAsked is the number of the last request to the model.
func (w *world) lastAsked() int {
	all := w.Model.Requests()
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].N
}

// questions are what the model was asked in this case, without what agents ask beside the
// conversation.
func (w *world) questions() []modeltest.Request {
	if w.Model == nil {
		return nil
	}
	var all []modeltest.Request
	for _, r := range w.Model.Requests() {
		if r.N > w.asked && r.API != "" && !r.Side {
			all = append(all, r)
		}
	}
	return all
}
