package audit_test

import (
	"bytes"
	"flag"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/interlude-go/interlude/contract/audit"
	"github.com/interlude-go/interlude/internal/sample"
)

// flips counts the changes of one bit in a log, and how many of them the checker detects.
type flips struct {
	all, seen int
	// unseen counts the undetected changes, by the member that they changed.
	unseen map[string]int
}

// floor is the share of all one-bit changes that the strict checker must detect. Of all bits of
// these logs (go test -run FlippedBits -v -flip-each 1) it detects 98.3 %.
const floor = 0.975

var flipEach = flag.Int("flip-each", audit.FlipStride, "flip each nth bit only")

// F1, G4: whichever single bit of a sound log is flipped, the strict checker nearly always detects
// it. The other bits are in values that may be anything: texts, names of actors and pools, and
// limits and times that nothing else in the log depends on.
func TestFlippedBitsAreSeen(t *testing.T) {
	sample.Sequential(t)
	t.Parallel()
	var sum flips
	sum.unseen = map[string]int{}
	for name, body := range logs(t, "good") {
		f := flipped([]byte(body), *flipEach)
		t.Logf("%s: %d of %d, %.2f %%", name, f.seen, f.all, 100*float64(f.seen)/float64(f.all))
		sum.all += f.all
		sum.seen += f.seen
		for what, n := range f.unseen {
			sum.unseen[what] += n
		}
	}
	t.Logf("all: %d of %d, %.2f %%; not seen: %v", sum.seen, sum.all, 100*float64(sum.seen)/float64(sum.all),
		sum.unseen)
	require.Greater(t, float64(sum.seen)/float64(sum.all), floor)
}

// flipped flips every stride-th bit of the log, one at a time.
func flipped(body []byte, stride int) flips {
	f := flips{unseen: map[string]int{}}
	spoiled := bytes.Clone(body)
	for bit := 0; bit < 8*len(body); bit += stride {
		i := bit / 8
		spoiled[i] ^= 1 << (bit % 8)
		f.all++
		if report, err := audit.Check(bytes.NewReader(spoiled)); err != nil || report.First() != nil {
			f.seen++
		} else {
			f.unseen[memberAt(body, i)]++
		}
		spoiled[i] = body[i]
	}
	return f
}

// memberName matches a member's name as it is written before its value.
var memberName = regexp.MustCompile(`"([a-z_]+)":`)

// memberAt returns the name of the member whose name or value contains the byte.
func memberAt(body []byte, index int) string {
	line := body[bytes.LastIndexByte(body[:index], '\n')+1:]
	name := ""
	for _, m := range memberName.FindAllSubmatchIndex(line, -1) {
		if m[0] > index-(len(body)-len(line)) {
			break
		}
		name = string(line[m[2]:m[3]])
	}
	return name
}
