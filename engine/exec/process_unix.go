//go:build unix

package exec

import (
	"io/fs"
	"os"
	"syscall"
)

// drainBatch bounds what drain passes over, so that an agent that never stops cannot keep it.
const drainBatch = 16 << 20

// drain passes over what the agent wrote since its last turn: it does not belong to the next one.
func (p *resident) drain() {
	p.lines.skip()
	out, err := p.stdout.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, 64<<10)
	_ = out.Read(func(fd uintptr) bool { // an end of the output is found by the turn
		for taken := 0; taken < drainBatch; {
			n, err := syscall.Read(int(fd), buf)
			if n <= 0 || err != nil {
				break
			}
			taken += n
		}
		return true
	})
}

// terminateGroup asks every process of the group to end.
func terminateGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) } // it may be gone already

// killGroup ends every process of the group.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// private reports whether it is a folder of this user's that nobody else can write to.
func private(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && info.Mode().Perm()&0o022 == 0 && int64(stat.Uid) == int64(os.Getuid())
}
