//go:build unix

package exec

import "syscall"

// drainBatch bounds what drain reads, so that an agent that never stops cannot keep it.
const drainBatch = 16 << 20

// drain drops what the agent wrote since its last turn: it does not belong to the next one.
func (p *resident) drain() {
	p.lines.Skip(nil)
	out, err := p.Stdout.SyscallConn()
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
			p.lines.Skip(buf[:n])
			taken += n
		}
		return true
	})
}
