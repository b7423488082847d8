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

// isAlone reports whether the engine keeps no state of a run in memory: the agent is a separate
// process, or the engine replays the journal.
func isAlone(w *world) bool { return w.Program || w.Model != nil || w.Journal }

// isSeen: the agent's process can be found from outside.
func isSeen(w *world) bool { return w.Program || w.Model != nil && onLinux(w) }

// naming returns the steps of a turn, preceded for a program by a step that writes its process
// number to the file.
func (r *run) naming(file string, steps ...string) []string {
	if r.Program {
		return append([]string{"pid " + file}, steps...)
	}
	return steps
}

// named returns the process of the turn that was given the name. A real agent's process is searched
// for now.
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

// processes finds the run's processes by its id in their environment, or by its folder.
func (r *run) processes() []int {
	names, _ := filepath.Glob("/proc/[0-9]*")
	mark := []byte("\x00" + process.EnvRun + "=" + r.turn.RunID + "\x00")
	var all []int
	for _, name := range names {
		env, _ := os.ReadFile(filepath.Join(name, "environ")) // another user's, or it has ended
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

// parent returns the parent process of this one, 0 if unknown.
func parent(pid int) int {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(stat[bytes.LastIndexByte(stat, ')'):]), " ") // the name may contain ")"
	fields := strings.Fields(rest)
	if len(fields) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(fields[1])
	return n
}

// nothingLeft checks that no process of the case's runs is left after its engine is closed.
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

func (w *world) lastAsked() int {
	all := w.Model.Requests()
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].N
}

// questions returns the case's requests to the model without side calls.
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
