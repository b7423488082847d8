package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
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

// endGroup kills the group of a recorded process that lives, for those of it that dropped their environment. The leader is
// stopped first, by a descriptor: then it cannot end between the look at it and the signal to its group. It returns the group that it killed, or 0.
func endGroup(r record) int {
	pid, ok := procid.PID(r.Identity)
	if !ok {
		return 0
	}
	leader, err := os.FindProcess(pid)
	if err != nil {
		return 0
	}
	defer func() { _ = leader.Release() }()
	if procid.Alive(r.Identity) != procid.Living || !carries(pid, r.Token) || leader.Signal(syscall.SIGSTOP) != nil {
		return 0
	}
	if procid.Alive(r.Identity) == procid.Living {
		killGroup(pid)
		return pid
	}
	return 0
}
