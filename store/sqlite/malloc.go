package sqlite

import (
	"sync"

	"modernc.org/libc"
	"modernc.org/libc/sys/types"
)

// keepPages holds blocks of the C allocator, so that the allocator keeps some pages for each
// block size. The allocator unmaps a page when its last block is freed. A statement whose buffer
// needs a new page would otherwise map and unmap the page in each execution, which has cost a
// third of the throughput. The kept pages, of 64 KiB on every system, take less than 3 MiB of
// address space in the process, of which less than 2 MiB are resident.
var keepPages = sync.OnceFunc(func() {
	const page, pages = 64 << 10, 4
	tls := libc.NewTLS()
	defer tls.Close()
	for size := types.Size_t(16); size <= page/4; size *= 2 { // larger blocks have separate pages
		var others []uintptr
		for held := make(map[uintptr]bool); len(held) < pages; {
			block := libc.Xmalloc(tls, size)
			if block == 0 {
				break // if there is no memory, the next statement returns the error
			}
			if at := block &^ (page - 1); held[at] {
				others = append(others, block)
			} else {
				held[at] = true
			}
		}
		for _, block := range others {
			libc.Xfree(tls, block)
		}
	}
})
