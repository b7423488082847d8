package process

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/interlude-go/interlude/internal/procid"
)

// sweeps says that processes are found by the token that they carry.
const sweeps = true

// sweepTime is how long sweep waits for killed processes to be gone; doubts is how often it looks
// again because a look told nothing certain, and bareness how often a process has to show no
// environment until it is believed to have none.
const (
	sweepTime = 10 * time.Second
	doubts    = 6
	bareness  = 3
)

// sweep kills every process of this machine that carries the token, wherever it went, and reports
// whether all are gone, with those of the killed group; 0 is no group.
//
// One look is not enough. A process that ended between the listing and the look at it may have
// started another meanwhile, which is not listed; and one that is just starting a program shows no
// environment for a moment. Then it looks again. A process that is killed shows none either while
// it gives back its memory, and holds its files open until afterwards: it is waited for by its
// identity.
func sweep(token string, group int) bool {
	s := sweeper{token: token, group: group, unclear: make(map[int]int), killed: make(map[string]bool)}
	doubted := 0
	for deadline := time.Now().Add(sweepTime); ; {
		found, doubt, err := s.look()
		if err != nil {
			return false
		}
		if found == 0 && !s.dying() {
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

// sweeper looks for what carries a token.
type sweeper struct {
	token string
	group int // that was killed, or 0
	// unclear counts by number the looks at processes that show no environment and may never do so.
	unclear map[int]int
	killed  map[string]bool // by identity: those that may not be gone yet
}

// look kills what carries the token, and says whether it may have missed something.
func (s *sweeper) look() (found int, doubt bool, err error) {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return 0, false, err
	}
	for _, n := range names {
		pid, err := strconv.Atoi(n.Name())
		if err != nil || pid == os.Getpid() || s.unclear[pid] > bareness {
			continue
		}
		env, err := environ(pid)
		switch {
		case err == nil && len(env) > 0:
			if holds(env, s.token) {
				found++
				s.kill(pid)
			}
		case err == nil, errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ESRCH):
			doubt = s.doubts(pid) || doubt
		default: // it is another user's
		}
	}
	return found, doubt, nil
}

// doubts reports whether a process that shows no environment may carry the token, or have started
// what does since it was listed. A zombie that was one at the look before has not.
func (s *sweeper) doubts(pid int) bool {
	state, parent := stateOf(pid)
	switch {
	case state == "": // it is gone
		return true
	case parent == "2" || pid == 2, isBare(pid): // a thread of the kernel, or the one that starts those
		s.unclear[pid] = bareness
	}
	s.unclear[pid]++
	if state == "Z" {
		return s.unclear[pid] == 1
	}
	return s.unclear[pid] <= bareness
}

// kill ends the process if it carries the token. It is held by a descriptor while it is looked at,
// so that its number cannot pass to another.
func (s *sweeper) kill(pid int) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	defer func() { _ = p.Release() }()
	id, err := procid.Of(pid)
	if carries(pid, s.token) && p.Kill() == nil && err == nil { // it may have ended meanwhile
		s.killed[id] = true
	}
}

// dying reports whether one that was killed, by number or with the group, is not gone yet.
func (s *sweeper) dying() bool {
	for id := range s.killed {
		if procid.Alive(id) == procid.Living {
			return true
		}
		delete(s.killed, id)
	}
	if s.group == 0 || syscall.Kill(-s.group, 0) != nil {
		return false
	}
	names, err := os.ReadDir("/proc") // the group has somebody, if only a zombie that nobody waits for
	if err != nil {
		return false
	}
	for _, n := range names {
		if pid, err := strconv.Atoi(n.Name()); err == nil && inGroup(pid, s.group) && !isGone(pid) {
			return true
		}
	}
	return false
}

func isGone(pid int) bool {
	_, err := procid.Of(pid)
	return errors.Is(err, os.ErrNotExist)
}

func inGroup(pid, group int) bool {
	of, err := syscall.Getpgid(pid)
	return err == nil && of == group
}

// carries reports whether the token is in the environment that the process was started with.
func carries(pid int, token string) bool {
	env, err := environ(pid)
	return err == nil && holds(env, token)
}

func holds(env []byte, token string) bool {
	return bytes.Contains(append([]byte{0}, env...), []byte("\x00"+EnvToken+"="+token+"\x00"))
}

// environ is the environment that the process was started with. That of a process whose first
// thread has ended is seen in its others.
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

// isBare reports whether the process was started without any environment: one that is just being
// started shows no arguments either, and has its environment a moment after them.
func isBare(pid int) bool {
	args, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || len(args) == 0 {
		return false
	}
	env, err := environ(pid)
	return err == nil && len(env) == 0
}

// stateOf is the state of a process and its parent's number, "" when it is gone.
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
