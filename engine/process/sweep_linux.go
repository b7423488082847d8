package process

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// sweeps says that processes are found by the token that they carry.
const sweeps = true

// sweepTime is how long sweep waits for killed processes to be gone; doubts is how often it looks again because a look told nothing
// certain.
const (
	sweepTime = 10 * time.Second
	doubts    = 5
)

// sweep kills every process of this machine that carries the token, wherever it went, and reports whether all are
// gone.
//
// One look is not enough. A process that ended between the listing and the look at it may have started another meanwhile, which is not
// listed; and one that is just starting a program shows no environment for a moment. Then it looks again.
func sweep(token string) bool {
	bare := make(map[string]bool)
	doubted := 0
	for deadline := time.Now().Add(sweepTime); ; {
		found, doubt, err := look(token, bare)
		if err != nil {
			return false
		}
		if found == 0 {
			if doubted++; !doubt || doubted > doubts {
				return true
			}
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(2 * time.Millisecond) // the killed are on their way
	}
}

// look kills what carries the token. It is in doubt about what ended meanwhile, and about what shows no environment, unless it is in bare,
// where it is put.
func look(token string, bare map[string]bool) (found int, doubt bool, err error) {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return 0, false, err
	}
	for _, n := range names {
		pid, err := strconv.Atoi(n.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		env, err := environ(pid)
		switch {
		case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ESRCH):
			doubt = doubt || !isIdle(pid)
		case err == nil && len(env) == 0 && !bare[n.Name()]:
			bare[n.Name()] = true
			doubt = doubt || !isIdle(pid)
		case err == nil && holds(env, token):
			found++
			kill(pid, token)
		}
	}
	return found, doubt, nil
}

// kill ends the process if it carries the token. It is held by a descriptor while it is looked at, so that its number cannot
// pass to another.
func kill(pid int, token string) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	if carries(pid, token) {
		_ = p.Kill() // it may have ended meanwhile
	}
	_ = p.Release()
}

// carries reports whether the token is in the environment that the process was started with.
func carries(pid int, token string) bool {
	env, err := environ(pid)
	return err == nil && holds(env, token)
}

func holds(env []byte, token string) bool {
	return bytes.Contains(append([]byte{0}, env...), []byte("\x00"+EnvToken+"="+token+"\x00"))
}

// environ is the environment that the process was started with. That of a process whose first thread has ended is seen in its others.
func environ(pid int) ([]byte, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	env, err := os.ReadFile(dir + "/environ")
	if !errors.Is(err, syscall.ESRCH) {
		return env, err
	}
	if state, _ := stateOf(pid); state != "Z" {
		return nil, err
	}
	threads, listErr := os.ReadDir(dir + "/task")
	if listErr != nil {
		return nil, err
	}
	for _, thread := range threads {
		if env, err := os.ReadFile(dir + "/task/" + thread.Name() + "/environ"); err == nil {
			return env, nil
		}
	}
	return nil, err
}

// isIdle reports whether the process starts nothing: it is a zombie, or a thread of the kernel, all of which are children of the second
// process.
func isIdle(pid int) bool {
	state, parent := stateOf(pid)
	return state == "Z" || parent == "2" || pid == 2
}

func stateOf(pid int) (state, parent string) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", ""
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 2 {
		return "", ""
	}
	return fields[0], fields[1]
}
