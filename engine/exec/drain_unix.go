//go:build unix

package exec

import "syscall"

// drainBatch limits the bytes that drain reads: an agent may write without end.
const drainBatch = 16 << 20

// drain discards output written after the last turn, which does not belong to the next one.
func (p *resident) drain() {
	p.lines.Skip(nil)
	out, err := p.Stdout.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, 64<<10)
	_ = out.Read(func(fd uintptr) bool { // the turn detects the end of the output
		for drained := 0; drained < drainBatch; {
			n, err := syscall.Read(int(fd), buf)
			if n <= 0 || err != nil {
				break
			}
			p.lines.Skip(buf[:n])
			drained += n
		}
		return true
	})
}
