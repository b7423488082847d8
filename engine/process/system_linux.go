package process

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"github.com/interlude-go/interlude/internal/procid"
)

// Supported says that this system can keep processes under control: it needs process groups and signals.
const Supported = true

// group gives the command a process group of its own, and its death with the thread that starts it.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// reap waits for the process and ends what it left in its group, while it is still a zombie: until then its
// number cannot be anybody else's.
func (p *Process) reap() error {
	awaitExit(p.cmd.Process.Pid)
	p.retire()
	return p.cmd.Wait()
}

// awaitExit waits until the child has ended, and leaves it a zombie.
func awaitExit(pid int) {
	const byPID, noWait = 1, 0x1000000
	var info [128]byte
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, byPID, uintptr(pid), uintptr(unsafe.Pointer(&info)), syscall.WEXITED|noWait, 0, 0) //nolint:gosec // the kernel fills in siginfo
		if !errors.Is(errno, syscall.EINTR) {
			return
		}
	}
}

// sweepTime is how long sweep waits for killed processes to be gone.
const sweepTime = 10 * time.Second

// sweep kills every process of this machine that carries the token, wherever it went, and reports whether all are
// gone. A process is held by a descriptor while it is looked at, so that the number cannot pass to another.
func sweep(token string) bool {
	for deadline := time.Now().Add(sweepTime); ; {
		found := 0
		names, err := os.ReadDir("/proc")
		if err != nil {
			return false
		}
		for _, n := range names {
			pid, err := strconv.Atoi(n.Name())
			if err != nil || pid == os.Getpid() {
				continue
			}
			p, err := os.FindProcess(pid)
			if err != nil {
				continue
			}
			if carries(pid, token) {
				found++
				_ = p.Kill() // it may have ended meanwhile
			}
			_ = p.Release()
		}
		if found == 0 {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(5 * time.Millisecond) // the killed are on their way
	}
}

// carries reports whether the token is in the environment that the process was started with.
func carries(pid int, token string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(append([]byte{0}, env...), []byte("\x00"+EnvToken+"="+token+"\x00"))
}

// endGroup kills the group of a recorded process that lives, for those of it that dropped their environment. The leader is
// stopped first, by a descriptor: then it cannot end between the look at it and the signal to its group.
func endGroup(r record) {
	pid, ok := procid.PID(r.Identity)
	if !ok {
		return
	}
	leader, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	defer func() { _ = leader.Release() }()
	if procid.Alive(r.Identity) != procid.Living || !carries(pid, r.Token) || leader.Signal(syscall.SIGSTOP) != nil {
		return
	}
	if procid.Alive(r.Identity) == procid.Living {
		killGroup(pid)
	}
}
