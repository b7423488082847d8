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

// findsByToken says that processes are found by the token in their environment.
const findsByToken = true

const (
	// endTime is how long endByToken waits for killed processes to disappear.
	endTime      = 10 * time.Second
	maxUncertain = 6
	// maxWithoutEnviron is the number of scans after which a process without a visible environment
	// counts as having none.
	maxWithoutEnviron = 3
)

// endByToken kills every process of this machine with the token, and reports whether all are gone,
// also in the killed group; 0 is no group.
//
// One scan of the machine may miss processes. A listed process can start a child and exit before the
// scan reads it; the child is then not in the list. During execve a process has no environment. The
// scan is repeated in both cases. A killed process also shows no environment
// while the kernel frees its memory, and closes its files only later, so it is awaited by its
// identity.
func endByToken(token string, group int) bool {
	s := scanner{token: token, group: group, withoutEnviron: make(map[int]int), killed: make(map[string]bool)}
	uncertain := 0
	for deadline := time.Now().Add(endTime); ; {
		found, certain, err := s.scan()
		if err != nil {
			return false
		}
		if found == 0 && !s.killedRemain() {
			if uncertain++; certain || uncertain > maxUncertain {
				return true
			}
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(2 * time.Millisecond) // the killed processes are about to end
	}
}

// scanner finds and kills the processes with a token.
type scanner struct {
	token string
	group int // the killed group, or 0
	// withoutEnviron counts, by process number, the scans in which a process showed no environment.
	withoutEnviron map[int]int
	killed         map[string]bool // by identity; may not be gone yet
}

// scan kills the processes with the token. certain is false if it may have missed one.
func (s *scanner) scan() (found int, certain bool, err error) {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return 0, false, err
	}
	certain = true
	for _, n := range names {
		pid, err := strconv.Atoi(n.Name())
		if err != nil || pid == os.Getpid() || s.withoutEnviron[pid] > maxWithoutEnviron {
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
			if s.mayCarry(pid) {
				certain = false
			}
		default: // another user's process
		}
	}
	return found, certain, nil
}

// mayCarry reports whether a process without a visible environment may have the token, or may
// have started a process with the token since it was listed. A process that was already a zombie
// in the previous scan cannot have started one.
func (s *scanner) mayCarry(pid int) bool {
	state, parent := stateOf(pid)
	switch {
	case state == "": // it is gone
		return true
	case parent == "2" || pid == 2, isBare(pid): // 2 starts the threads of the kernel
		s.withoutEnviron[pid] = maxWithoutEnviron
	}
	s.withoutEnviron[pid]++
	if state == "Z" {
		return s.withoutEnviron[pid] == 1
	}
	return s.withoutEnviron[pid] <= maxWithoutEnviron
}

// kill ends the process if it has the token. A descriptor pins the process, so that its number
// cannot be reused.
func (s *scanner) kill(pid int) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	defer func() { _ = p.Release() }()
	id, err := procid.Of(pid)
	if carries(pid, s.token) && p.Kill() == nil && err == nil { // it may have ended since
		s.killed[id] = true
	}
}

// killedRemain reports whether a process that was killed, by number or with the group, still
// exists.
func (s *scanner) killedRemain() bool {
	for id := range s.killed {
		if procid.Alive(id) == procid.Living {
			return true
		}
		delete(s.killed, id)
	}
	if s.group == 0 || syscall.Kill(-s.group, 0) != nil {
		return false
	}
	names, err := os.ReadDir("/proc") // the group has a process, perhaps only a zombie without a waiting parent
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

func carries(pid int, token string) bool {
	env, err := environ(pid)
	return err == nil && holds(env, token)
}

func holds(env []byte, token string) bool {
	return bytes.Contains(append([]byte{0}, env...), []byte("\x00"+EnvToken+"="+token+"\x00"))
}

// environ is the process's initial environment. If its first thread has ended, the other threads
// still show it.
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

// isBare reports whether the process was started without any environment. A process that is just
// being started shows no arguments either: they appear shortly before the environment.
func isBare(pid int) bool {
	args, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || len(args) == 0 {
		return false
	}
	env, err := environ(pid)
	return err == nil && len(env) == 0
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
